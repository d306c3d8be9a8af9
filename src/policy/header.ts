// Writes the C++ header with the rules that a user gets who asks for none, so that what is native and must have
// rules before an agent gives some, or in place of an agent, has no copy of them.
import { strict } from "./strict.ts";

/** native/generated/rules.h, whole. */
export function emitRules(): string {
  const rules = Object.entries(strict.rules({ isolated: true, high: [] }));
  return `// Generated from src/policy/strict.ts by \`npm run update\`. Do not edit.
#pragma once

#include "generated/protocol.h"

namespace cotenant::protocol {

// The rules of the strict policy, in mode isolated, before any burst has been seen.
inline void set_strict_rules(Settings& rules) noexcept {
${rules.map(([name, value]) => `  rules.${name} = ${value};`).join("\n")}
}

}  // namespace cotenant::protocol
`;
}
