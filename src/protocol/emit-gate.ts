import { type BlockField, type BlockFields, lengthOf } from "./block.ts";
import { pascal, snake } from "./case.ts";
import { gateStructs, gateView, gateWords, holdView, LOOK_STATE, lookOutput } from "./gate.ts";
import { kernelClasses } from "./layout.ts";

const KernelClass = Object.fromEntries(Object.keys(kernelClasses).map((name) => [name, ""]));

const comment = (doc: string) => (doc === "" ? "" : `  // ${doc}`);

const enumOf = ([name, words]: readonly [string, Readonly<Record<string, string>>]): string =>
  [
    `enum class ${name} : std::uint32_t {`,
    ...Object.entries(words).map(
      ([word, doc], value) => `  k${pascal(word)} = ${value},${comment(doc)}`,
    ),
    "};",
  ].join("\n");

const member = ([name, { type, doc }]: readonly [string, BlockField]) =>
  `  ${type} ${snake(name)}{};${comment(doc)}`;

function structOf(name: string, doc: string, fields: BlockFields): string {
  const seen =
    fields === holdView
      ? ["  GateView seen{};  // for release(); held_us and progressed_us are computed here"]
      : [];
  return [
    `// ${doc}`,
    `struct ${name} {`,
    ...Object.entries(fields).map(member),
    ...seen,
    "};",
  ].join("\n");
}

function readCode({ kind, type }: BlockField, index: number): string {
  const value = `from[${index}]`;
  if (kind === "flag") return `${value} != 0`;
  if (kind === "count") return `block_count(${value})`;
  return kind === "word" ? `block_word(${value})` : `static_cast<${type}>(block_word(${value}))`;
}

function readerOf(name: string, fields: BlockFields): string {
  const values = Object.values(fields).map((field, i) => `      ${readCode(field, i)},`);
  if (fields === holdView) values.push(`      gate_view_from(from + ${lengthOf(fields)}),`);
  return [
    `[[nodiscard]] inline ${name} ${snake(name).slice(1)}_from(const double* from) noexcept {`,
    `  return ${name}{`,
    ...values,
    "  };",
    "}",
  ].join("\n");
}

const writeCode = (of: string, fields: BlockFields) =>
  Object.keys(fields).map((name) => `      static_cast<double>(${of}.${snake(name)}),`);

export function emitGate(): string {
  const { TurnDecision, HoldDecision, ...inputs } = gateStructs;
  return `// Generated from src/protocol/gate.ts by \`npm run update\`. Do not edit.
#pragma once

#include <cstdint>
#include <cstring>

namespace cotenant {

${Object.entries({ ...gateWords, KernelClass })
  .map(enumOf)
  .join("\n\n")}

${Object.entries(gateStructs)
  .map(([name, { doc, fields }]) => structOf(name, doc, fields))
  .join("\n\n")}

// Values of blocks of doubles. A time that is longer than any here stands for one that never was.
[[nodiscard]] inline std::uint64_t block_count(double value) noexcept {
  constexpr double kLong = 1ull << 52;
  return static_cast<std::uint64_t>(value < 0 ? 0 : value < kLong ? value : kLong);
}
[[nodiscard]] inline std::uint32_t block_word(double value) noexcept {
  return static_cast<std::uint32_t>(block_count(value));
}

${Object.entries(inputs)
  .map(([name, { fields }]) => readerOf(name, fields))
  .join("\n\n")}

// The input, output and state of cotenant_hold.
struct HoldBlock {
  double view[${lengthOf(holdView) + lengthOf(gateView)}];
  double decision[${lengthOf(lookOutput)}];
  double state[${LOOK_STATE}];  // the bytes of a HoldState, kept between the calls
};

inline void put_decision(const TurnDecision& turn, const HoldDecision& hold, HoldBlock& block) noexcept {
  const double fields[] = {
${[...writeCode("turn", TurnDecision.fields), ...writeCode("hold", HoldDecision.fields)].join("\n")}
  };
  static_assert(sizeof fields == sizeof block.decision);
  std::memcpy(block.decision, fields, sizeof fields);
}

}  // namespace cotenant
`;
}
