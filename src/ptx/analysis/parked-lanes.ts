// In a preemptible kernel a lane that has exited is parked, and never arrives at a warp-wide
// operation that names it: such an operation is refused. A lane of the mask either comes to the
// operation or has exited, because the kernel as written would wait for it otherwise. Lanes part at
// a branch whose condition differs in the warp. A lane that goes around the operation matters only
// if it can exit on that way:
// - Operations marked `.aligned` need all lanes (PTX ISA 9.0, 9.7.14 and 9.7.15): they are
// undefined with an exited one.
// - A lane that meets a barrier or an operation of the whole warp before its exit waits there for
// the lanes at this operation. If it were in the mask, the kernel as written would never end.
// - A mask from a vote, a match or `activemask` names lanes that were there (lane-masks.ts). Exits
// before that place do not matter, nor do ways behind it that no lane of the mask takes.
//
// Lanes that come together must name the same lanes: otherwise one may leave with its own mask
// while another still waits for it.

import type { Instruction, Operand, Operation } from "../syntax/syntax.ts";
import { constantValue, type Definitions, definitions, isFullMask } from "./addresses.ts";
import { type CallGraph, calleeOf, hasOperation } from "./call-graph.ts";
import { decidedBy, type Flow, postDominators } from "./control-flow.ts";
import { isOfLane, type MaskOrigin, maskOf, neverTakes, originOf } from "./lane-masks.ts";
import { Paths } from "./paths.ts";
import type { Refuse } from "./reasons.ts";
import type { Sameness } from "./sameness.ts";
import type { Uniformity } from "./uniformity.ts";

export function parkedLanes(found: Uniformity, graph: CallGraph, refuse: Refuse): void {
  const meeting = meetingCallees(graph);
  const lanes = new Lanes(found);
  found.flow.instructions.forEach((one, i) => {
    const { text, opcode } = one.operation;
    const callee = opcode === "call" ? (calleeOf(one) ?? "") : "";
    if (meeting.has(callee)) {
      if (lanes.mayHaveLeft(i, undefined))
        refuse(
          "parked-lanes",
          one,
          `${callee} has operations of the whole warp and not all lanes may call it`,
        );
    } else if (isCollective(one.operation) && lanes.mayBeAsked(i))
      refuse("parked-lanes", one, `${text} names lanes that may have left`);
  });
}

const meetingCallees = ({ functions: [, ...callees] }: CallGraph): ReadonlySet<string> =>
  new Set(callees.filter((one) => hasOperation(one, isCollective)).map(({ name }) => name));

export function isCollective({ opcode, modifiers }: Operation): boolean {
  if (opcode === "bar") return modifiers[0] === "warp";
  return modifiers.includes("sync") && opcode !== "barrier" && !modifiers.includes("aligned");
}

interface Way {
  readonly to: number | undefined;
  readonly when: boolean | undefined;
}

const parts = (how: Sameness | undefined) => how === "varying" || how === "lanes";

class Lanes {
  readonly #found: Uniformity;
  readonly #flow: Flow;
  readonly #known: Definitions;

  readonly #among = new Map<number, Uniformity>();

  constructor(found: Uniformity) {
    this.#found = found;
    this.#flow = found.flow;
    this.#known = definitions(found.flow);
  }

  mayBeAsked(i: number): boolean {
    const mask = maskOf(this.#flow.instructions[i] as Instruction);
    if (this.#isTrusted(i, constantValue(mask, this.#known))) return false;
    const origin = originOf(mask, i, this.#flow, this.#known);
    if (origin === undefined && this.#differs(mask) && this.#leavesFrom(i + 1, i)) return true;
    return this.mayHaveLeft(i, origin);
  }

  #differs(mask: Operand | undefined): boolean {
    if (mask?.kind !== "name" || isOfLane(mask, this.#known)) return false;
    return parts(this.#found.of(mask.name));
  }

  mayHaveLeft(i: number, origin: MaskOrigin | undefined): boolean {
    const { blocks, blockOf } = this.#flow;
    const block = blockOf[i] ?? 0;
    const paths = new Paths(this.#flow, origin?.index);
    const found = origin === undefined ? this.#found : this.#amongLanesOf(origin);
    if (this.#skips(i, origin, found)) return true;
    const post = postDominators(this.#flow, true);
    return blocks.some((_, n) => {
      if (!parts(found.parting[n]) || !paths.leadOver(n, i)) return false;
      if (!decidedBy(this.#flow, post, n).includes(block)) return false;
      return this.#ways(n).some(
        (way) => this.#leaves(way, i) && !this.#isNeverTaken(way, n, origin),
      );
    });
  }

  #skips(i: number, origin: MaskOrigin | undefined, found: Uniformity): boolean {
    const predicate = this.#flow.instructions[i]?.predicate;
    if (predicate === undefined || !parts(found.of(predicate.register))) return false;
    if (!this.#leavesFrom(i + 1, i)) return false;
    const skip = { at: i, register: predicate.register, when: predicate.negated };
    return origin === undefined || !neverTakes(origin, skip, this.#known);
  }

  #isNeverTaken({ when }: Way, n: number, origin: MaskOrigin | undefined): boolean {
    const at = (this.#flow.blocks[n]?.end ?? 0) - 1;
    const register = this.#flow.instructions[at]?.predicate?.register;
    if (origin === undefined || register === undefined || when === undefined) return false;
    return neverTakes(origin, { at, register, when }, this.#known);
  }

  /** They go together where none takes one of the ways, if they pass the mask's origin once. */
  #amongLanesOf(origin: MaskOrigin): Uniformity {
    const known = this.#among.get(origin.index);
    if (known !== undefined) return known;
    const paths = new Paths(this.#flow, origin.index);
    const together = new Set<number>();
    if (origin.voted !== undefined && !paths.comeBack)
      this.#flow.blocks.forEach((_, n) => {
        if (!parts(this.#found.parting[n]) || !paths.leadTo(n)) return;
        if (this.#ways(n).some((way) => this.#isNeverTaken(way, n, origin))) together.add(n);
      });
    const found = together.size === 0 ? this.#found : this.#found.among(together);
    this.#among.set(origin.index, found);
    return found;
  }

  #ways(n: number): readonly Way[] {
    const { successors = [], exits = false, end = 0 } = this.#flow.blocks[n] ?? {};
    const { predicate, operation } = this.#flow.instructions[end - 1] ?? {};
    if (predicate === undefined || operation?.opcode === "brx") {
      const all: Way[] = successors.map((to) => ({ to, when: undefined }));
      return exits ? [...all, { to: undefined, when: undefined }] : all;
    }
    const taken = !predicate.negated;
    if (operation?.opcode !== "bra")
      return [{ to: undefined, when: taken }, ...successors.map((to) => ({ to, when: !taken }))];
    const [to, next] = successors;
    // A branch behind the last instruction exits.
    if (exits || next === undefined)
      return [to, next, undefined].map((one) => ({ to: one, when: undefined }));
    return [
      { to, when: taken },
      { to: next, when: !taken },
    ];
  }

  #leaves({ to }: Way, i: number): boolean {
    return to === undefined || this.#leavesFrom(this.#flow.blocks[to]?.first ?? 0, i);
  }

  #leavesFrom(from: number, i: number): boolean {
    const { blocks, blockOf, instructions } = this.#flow;
    if (from >= instructions.length) return true;
    const seen = new Set<number>();
    const open = [from];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const { end = 0, successors = [], exits = false } = blocks[blockOf[at] ?? -1] ?? {};
      let held = false;
      for (let k = at; k < end && !held; k += 1) held = k === i || this.#holds(k);
      if (held) continue;
      if (exits) return true;
      for (const one of successors) {
        if (seen.has(one)) continue;
        seen.add(one);
        open.push(blocks[one]?.first ?? 0);
      }
    }
    return false;
  }

  /** Does a lane wait here for all lanes of its warp that have not exited? */
  #holds(k: number): boolean {
    const one = this.#flow.instructions[k] as Instruction;
    const { opcode, modifiers } = one.operation;
    if (one.predicate !== undefined) return false;
    if (opcode === "bar" && modifiers[0] !== "warp") return !modifiers.includes("arrive");
    if (opcode === "barrier")
      return (
        modifiers[0] !== "cluster" && modifiers.includes("aligned") && !modifiers.includes("arrive")
      );
    if (modifiers.includes("sync") && modifiers.includes("aligned")) return true;
    return isCollective(one.operation) && isFullMask(constantValue(maskOf(one), this.#known));
  }

  /** The author of a constant mask knows which lanes come here, unless the others exit at once. */
  #isTrusted(i: number, mask: number): boolean {
    if (Number.isNaN(mask) || isFullMask(mask)) return false;
    const { blocks, blockOf, instructions } = this.#flow;
    const predicate = instructions[i]?.predicate;
    if (predicate !== undefined && parts(this.#found.of(predicate.register)))
      return !this.#leavesFrom(i + 1, i);
    const post = postDominators(this.#flow, true);
    return this.#found.parting.every((how, n) => {
      if (!parts(how)) return true;
      const meeting = blocks[post[n] ?? blocks.length];
      const onlyLeaves =
        meeting === undefined || (meeting.exits && meeting.end - meeting.first <= 1);
      return !onlyLeaves || !decidedBy(this.#flow, post, n).includes(blockOf[i] ?? -1);
    });
  }
}
