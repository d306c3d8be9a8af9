// Does a block wait for others? A loop that goes round until memory changes waits for whoever changes it. A wait
// for a lower block is kept alive by starting blocks in rising order; any other one may wait for a block that
// has not been started, and is refused.
import { type Affine, addressOf, definitions } from "./addresses.ts";
import { controlFlow, loops } from "./control-flow.ts";
import { readNames, writtenNames } from "./operation-facts.ts";
import { calleeOf, instructionsOf, type Reach } from "./reach.ts";
import type { Refuse } from "./reasons.ts";
import type { Func, Instruction } from "./syntax.ts";

export function waits(reached: Reach, refuse: Refuse): void {
  const polling = new Set<string>();
  for (const func of reached.functions)
    if (instructionsOf(func).some(mayPoll)) polling.add(func.name);
  if (polling.size === 0) return;
  for (const func of reached.functions) waitsIn(func, polling, refuse);
}

function waitsIn(func: Func, polling: ReadonlySet<string>, refuse: Refuse): void {
  const flow = controlFlow(func);
  const known = definitions(flow);
  for (const loop of loops(flow)) {
    const members = new Set(loop);
    const inside = flow.instructions.filter((_, i) => members.has(flow.blockOf[i] ?? -1));
    for (const one of inside) {
      const callee = one.operation.opcode === "call" ? (calleeOf(one) ?? "") : "";
      if (polling.has(callee))
        refuse(
          "grid-wait",
          one,
          `${callee} is called in a loop and reads what other blocks may write`,
        );
      if (!mayPoll(one) || !decides(one, inside)) continue;
      if (ofLowerBlock(addressOf(one.operands[1], known))) continue;
      refuse(
        "grid-wait",
        one,
        `a loop goes round until ${one.operation.text} reads another value, which another block may have to write`,
      );
    }
  }
}

/** Reads of memory that other blocks may write meanwhile. */
function mayPoll({ operation, operands }: Instruction): boolean {
  const { opcode, modifiers } = operation;
  if (modifiers.some((one) => one.startsWith("shared") || one === "local")) return false;
  if (opcode === "ld")
    return modifiers.some((one) => /^(volatile|relaxed|acquire|mmio)$/.test(one));
  if (opcode !== "atom") return false;
  // An update that changes nothing is a read. One that does makes its own progress: a retry, a ticket, a lock,
  // whose holder runs to its end.
  const [, , first, second] = operands;
  const zero = first?.kind === "immediate" && Number(first.text) === 0;
  if (modifiers.includes("cas"))
    return first?.kind === second?.kind && JSON.stringify(first) === JSON.stringify(second);
  if (modifiers.includes("and"))
    return first?.kind === "immediate" && (Number(first.text) | 0) === -1;
  return zero && !modifiers.includes("exch");
}

/** Does a branch of the loop depend on what `read` finds? */
function decides(read: Instruction, inside: readonly Instruction[]): boolean {
  const tainted = new Set(writtenNames(read));
  for (let grown = true; grown; ) {
    grown = false;
    for (const one of inside) {
      if (!readNames(one).some((name) => tainted.has(name))) continue;
      const { opcode } = one.operation;
      if (opcode === "bra" || opcode === "brx" || opcode === "ret" || opcode === "exit")
        return true;
      // A parameter of a call, or memory: what comes of it is not followed.
      if (opcode === "st" || opcode === "call") return true;
      for (const name of writtenNames(one)) {
        if (tainted.has(name)) continue;
        tainted.add(name);
        grown = true;
      }
    }
  }
  return false;
}

/** A table's entry for an earlier block: base + k * ctaid.x - c. */
function ofLowerBlock(address: Affine | undefined): boolean {
  if (address === undefined || !(address.constant < 0)) return false;
  let block = false;
  for (const [name, factor] of address.terms) {
    if (name === "%ctaid.x") block = factor > 0;
    else if (name.startsWith("%") || name === "?" || factor !== 1) return false;
  }
  return block;
}
