// Shared structs get std::atomic scalars, because another process uses them; messages get plain
// ones. A static_assert pins every offset.
import {
  caveats,
  classes,
  constants,
  helloKinds,
  messageMagic,
  messageStructs,
  parkStates,
  sharedStructs,
  unmovable,
  welcomeStatus,
} from "./layout.ts";
import { launchers, MAX_GANG_RANKS, noGang, rankCounts } from "./ranks.ts";
import { graphGates, submission, whenActive } from "./rules.ts";
import { extent, type Field, type Struct } from "./struct.ts";

const cppScalar = { u32: "std::uint32_t", i32: "std::int32_t", u64: "std::uint64_t" } as const;

/** "class" is reserved in C++. */
const cppName = (name: string) => (name === "class" ? "class_" : name);

function declare(name: string, field: Field, shared: boolean): string {
  const wrap = (type: string) => (shared ? `std::atomic<${type}>` : type);
  switch (field.kind) {
    case "scalar":
      return `${wrap(cppScalar[field.type])} ${cppName(name)};`;
    case "array":
      return `${wrap(cppScalar.u32)} ${name}[${field.length}];`;
    case "quads":
      return `${wrap(cppScalar.u64)} ${name}[${field.length}];`;
    case "text":
      return `char ${name}[${field.length}];`;
    case "bytes":
      return `unsigned char ${name}[${field.length}];`;
    case "struct":
      return field.count === 1
        ? `${field.struct.name} ${name};`
        : `${field.struct.name} ${name}[${field.count}];`;
  }
}

function emitStruct(struct: Struct, shared: boolean): string {
  const lines: string[] = [`// ${struct.doc}`, `struct alignas(${struct.align}) ${struct.name} {`];
  let at = 0;
  let pads = 0;
  for (const [name, field] of Object.entries(struct.fields)) {
    const offset = struct.offsets[name] ?? 0;
    if (offset > at) lines.push(`  unsigned char pad${pads++}[${offset - at}];`);
    lines.push(`  ${declare(name, field, shared)}${field.doc ? `  // ${field.doc}` : ""}`);
    at = offset + extent(field).size;
  }
  if (struct.size > at) lines.push(`  unsigned char pad${pads}[${struct.size - at}];`);
  lines.push("};", `static_assert(sizeof(${struct.name}) == ${struct.size});`);
  for (const name of Object.keys(struct.fields))
    lines.push(
      `static_assert(offsetof(${struct.name}, ${cppName(name)}) == ${struct.offsets[name]});`,
    );
  return lines.join("\n");
}

function emitEnum(name: string, values: Readonly<Record<string, number>>): string {
  const cases = Object.entries(values).map(
    ([key, value]) =>
      `  k${key.replace(/(^|-)(.)/g, (_, __, letter: string) => letter.toUpperCase())} = ${value},`,
  );
  return [`enum class ${name} : std::uint32_t {`, ...cases, "};"].join("\n");
}

export function emitHeader(): string {
  const named = Object.entries(constants).map(([name, value]) =>
    typeof value === "bigint"
      ? `inline constexpr std::uint64_t ${name} = 0x${value.toString(16)}ull;`
      : `inline constexpr std::uint32_t ${name} = ${value};`,
  );
  return `// Generated from src/protocol/layout.ts by \`npm run update\`. Do not edit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// offsetof on structs that hold atomics is what this file is about.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace cotenant::protocol {

${named.join("\n")}
inline constexpr std::uint32_t MESSAGE_MAGIC = 0x${messageMagic.toString(16)};

// Variables in which launchers tell a process how many ranks its job has.
inline constexpr const char* RANK_COUNTS[] = {
${rankCounts.map((name) => `    "${name}",`).join("\n")}
};

// Launchers report to a rank: how many there are, its number, how many of them are on this machine or on how many machines they
// are, and what names the job. Null: the launcher does not say.
struct Launcher {
  const char* ranks;
  const char* rank;
  const char* here;
  const char* nodes;
  const char* names[4];
};
inline constexpr Launcher LAUNCHERS[] = {
${launchers.map(emitLauncher).join("\n")}
};
inline constexpr std::uint32_t MAX_GANG_RANKS = ${MAX_GANG_RANKS};
inline constexpr const char* GANG_TOO_LARGE = "${noGang.tooLarge}";
inline constexpr const char* GANG_NO_RANK = "${noGang.noRank}";
inline constexpr const char* GANG_ELSEWHERE = "${noGang.elsewhere}";
inline constexpr const char* GANG_UNNAMED = "${noGang.unnamed}";

${emitEnum("Class", classes)}
${emitEnum("Caveat", caveats)}
${emitEnum("ParkState", parkStates)}
${emitEnum("Unmovable", unmovable)}
${emitEnum("WhenActive", whenActive)}
${emitEnum("Submission", submission)}
${emitEnum("GraphGates", graphGates)}
${emitEnum("HelloKind", helloKinds)}
${emitEnum("WelcomeStatus", welcomeStatus)}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

${sharedStructs.map((struct) => emitStruct(struct, true)).join("\n\n")}

${messageStructs.map((struct) => emitStruct(struct, false)).join("\n\n")}

}  // namespace cotenant::protocol
`;
}

/** The test of agreement uses FIELD(struct, member) for each member. */
export function emitFields(): string {
  const lines = [...sharedStructs, ...messageStructs].flatMap((struct) =>
    Object.keys(struct.fields).map((name) => `FIELD(${struct.name}, ${cppName(name)})`),
  );
  return `// Generated from src/protocol/layout.ts by \`npm run update\`. Do not edit.\n${lines.join("\n")}\n`;
}

const emitLauncher = ({ ranks, rank, here, nodes, names }: (typeof launchers)[number]) => {
  const text = (value: string | undefined) => (value === undefined ? "nullptr" : `"${value}"`);
  return `    {${[ranks, rank, here, nodes].map(text).join(", ")}, {${names.map(text).join(", ")}}},`;
};
