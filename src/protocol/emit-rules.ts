import { pascal, snake } from "./case.ts";
import { accepted, type Rule, U32_MAX } from "./rule.ts";
import { FIRST_RULES, rules } from "./rules.ts";

const all: readonly (readonly [string, Rule])[] = Object.entries(rules);

function cppType(name: string, { kind }: Rule): string {
  return kind === "flag"
    ? "bool"
    : kind === "words"
      ? `protocol::${pascal(name)}`
      : "std::uint32_t";
}

/** Another process may have written the value `v`, so it is forced into the range. */
function clampCode(name: string, rule: Rule): string {
  switch (rule.kind) {
    case "flag":
      return "v != 0";
    case "words":
      return `static_cast<${cppType(name, rule)}>(v <= ${Math.max(...Object.values(rule.words))} ? v : 0)`;
    case "limit": {
      const { least, most, zero } = rule;
      const below = least > 0 ? `v < ${least} ? ${least} : ` : "";
      const value = `${below}${most < U32_MAX ? `v > ${most} ? ${most} : ` : ""}v`;
      return zero !== undefined && least > 0 ? `v == 0 ? 0 : ${value}` : value;
    }
  }
}

/** An agent that does not know an appended parameter left zero there, which may be a value. */
const loadCode = (name: string, { usual }: Rule, index: number): string =>
  index < FIRST_RULES
    ? `settings.${name}.load(std::memory_order_relaxed)`
    : `settings.known.load(std::memory_order_relaxed) > ${index} ? settings.${name}.load(std::memory_order_relaxed) : ${usual}`;

const reader = ([name, rule]: readonly [string, Rule], index: number): string => `// ${rule.doc}
[[nodiscard]] inline ${cppType(name, rule)} ${snake(name)}(const protocol::Settings& settings) noexcept {
  const std::uint32_t v = ${loadCode(name, rule, index)};
  return ${clampCode(name, rule)};
}`;

export function emitRules(): string {
  return `// Generated from src/protocol/rules.ts by \`npm run update\`. Do not edit.
#pragma once

#include <cstdint>

#include "generated/protocol.h"

namespace cotenant {

// A rule's value is read from shared memory by these functions alone. They force it into a range in which no wait can
// be endless: shared memory is trusted no further.
namespace rule {

${all.map(reader).join("\n\n")}

}  // namespace rule

// All rules at one moment each. Times in microseconds where the name says so.
struct Rules {
${all.map(([name, rule]) => `  ${cppType(name, rule)} ${snake(name)};`).join("\n")}
};

[[nodiscard]] inline Rules read_rules(const protocol::Settings& settings) noexcept {
  return Rules{
${all.map(([name]) => `      rule::${snake(name)}(settings),`).join("\n")}
  };
}

namespace protocol {

// The rules of the policy \`strict\` in mode isolated, before any burst has been seen.
inline void set_strict_rules(Settings& rules) noexcept {
  rules.known = ${all.length};
${all.map(([name, { usual }]) => `  rules.${name} = ${usual};`).join("\n")}
}

}  // namespace protocol

}  // namespace cotenant
`;
}

export function ruleTable(): readonly string[] {
  const usual = (rule: Rule) =>
    rule.kind === "words"
      ? Object.entries(rule.words).find(([, value]) => value === rule.usual)?.[0]
      : rule.usual.toLocaleString("en-US");
  return [
    "| rule | default | accepted | meaning |",
    "| --- | --: | --- | --- |",
    ...all.map(
      ([name, rule]) =>
        `| \`${name}\` | ${usual(rule)} | ${accepted(rule)} | ${rule.doc}${zeroOf(rule)} |`,
    ),
  ];
}

const zeroOf = (rule: Rule) =>
  rule.kind === "limit" && rule.zero && rule.least === 0 ? `; 0: ${rule.zero}` : "";
