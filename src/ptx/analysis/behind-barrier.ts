// All lanes of a warp that load from one address get the same value if each has come from a barrier of the whole warp and
// has waited for nothing since. A write that only some of them see would come after the load of one lane and before that of
// another. The latter would know of it by what it waited for up to the barrier, and so would the former. Plain loads that
// race with a write are undefined (PTX ISA 9.0, 8.7.1).

import type { Instruction } from "../syntax/syntax.ts";
import { constantValue, type Definitions, isFullMask } from "./addresses.ts";
import { entriesOf, type Flow } from "./control-flow.ts";

export function behindBarrier(flow: Flow, known: Definitions): (load: Instruction) => boolean {
  let before: readonly (readonly number[])[] | undefined;
  return (load) => {
    const { modifiers } = load.operation;
    if (modifiers.some(orders)) return false;
    before ??= entriesOf(flow);
    const { blocks, blockOf, instructions } = flow;
    const start = instructions.indexOf(load);
    const seen = new Set<number>();
    const open = [{ block: blockOf[start] ?? 0, from: start - 1 }];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const { first = 0 } = blocks[at.block] ?? {};
      let met = false;
      for (let i = at.from; i >= first && !met; i -= 1) {
        const one = instructions[i];
        met = one !== undefined && isMeeting(one, known);
        if (one === undefined || (!met && waits(one))) return false;
      }
      if (met) continue;
      for (const entry of before[at.block] ?? []) {
        if (seen.has(entry)) continue;
        seen.add(entry);
        open.push({ block: entry, from: (blocks[entry]?.end ?? 0) - 1 });
      }
    }
    return true;
  };
}

/** All lanes of the warp that have not exited wait here for each other. */
function isMeeting(
  { operation: { opcode, modifiers }, operands, predicate }: Instruction,
  known: Definitions,
): boolean {
  if (predicate !== undefined || modifiers.includes("arrive") || modifiers[0] === "cluster")
    return false;
  if (opcode === "bar" && modifiers[0] === "warp")
    return isFullMask(constantValue(operands[0], known));
  return opcode === "bar" || opcode === "barrier";
}

const orders = (modifier: string) =>
  /^(volatile|relaxed|acquire|acq_rel|mmio|cg|cv)$/.test(modifier);

/** A lane may learn here what another one does not know yet. */
function waits({ operation: { opcode, modifiers } }: Instruction): boolean {
  if (/^(atom|fence|membar|call|mbarrier|tcgen05|griddepcontrol)$/.test(opcode)) return true;
  if (opcode === "bar" || opcode === "barrier") return !modifiers.includes("arrive");
  return modifiers.some(orders) || modifiers.some((one) => one.startsWith("wait"));
}
