// live-lanes: barriers of a whole warp name the lanes that are left after an early exit.
//
//                                            vote.sync.ballot.b32 %cotenant_live, !%p, 0xffffffff;
//   @%p bra $exit;                     ->    @%p bra $exit;
//   bar.warp.sync 0xffffffff;                bar.warp.sync %cotenant_live;
//
// A warp's barrier waits for the lanes of its mask that have not exited (CUDA programming guide, __syncwarp: "all
// non-exited threads named in mask"). The ballot stands where all lanes of the warp still are, so its mask is the full
// one without the lanes that exit by this branch: the kernel computes the same. In a preemptible variant, where those
// lanes are parked and have not exited, the barrier does not wait for them. Lanes that exit must not meet the others on
// their way, or the renamed barriers would no longer order what both wrote before. Whether the lanes of the ballot may
// leave elsewhere is for the analysis of parked lanes, which judges the result like any other kernel.

import { constantValue, definitions, isFullMask } from "../analysis/addresses.ts";
import { controlFlow, type Flow } from "../analysis/control-flow.ts";
import { maskOf } from "../analysis/lane-masks.ts";
import { isCollective } from "../analysis/parked-lanes.ts";
import { comesBefore, Paths } from "../analysis/paths.ts";
import { type Uniformity, uniformity } from "../analysis/uniformity.ts";
import { type Func, type Instruction, made, type Operand } from "../syntax/syntax.ts";
import { rewrite } from "./rewrite.ts";
import { statements } from "./template.ts";

const LIVE = "%cotenant_live";

/** The kernel with masks of live lanes; undefined if its lanes part elsewhere first, or if there is nothing to name. */
export function withLiveLanes(kernel: Func): Func | undefined {
  const flow = controlFlow(kernel);
  const at = firstParting(flow, uniformity(kernel, false));
  const branch = at === undefined ? undefined : flow.instructions[at];
  if (at === undefined || branch?.predicate === undefined) return undefined;
  const { predicate } = branch;
  const [going, staying] = waysOf(flow, at);
  const ways = [
    { stay: staying, go: going, negated: !predicate.negated },
    { stay: going, go: staying, negated: predicate.negated },
  ];
  const [way] = ways.flatMap(({ stay, go, negated }) => {
    // Lanes that meet the others on their way out would have met them at the renamed barriers, too.
    if (flow.instructions.some((one, i) => meets(one) && reaches(flow, go, i))) return [];
    const renamed = new Set(barriersBehind(flow, at, stay));
    return renamed.size === 0 ? [] : [{ renamed, negated }];
  });
  if (way === undefined) return undefined;
  const vote = statements(
    `vote.sync.ballot.b32 ${LIVE}, ${way.negated ? "!" : ""}${predicate.register}, 0xffffffff;`,
  );
  const body = rewrite(kernel.body ?? [], (one) => {
    if (one === branch) return [...vote, one];
    return way.renamed.has(one) ? withMask(one) : one;
  });
  return { ...kernel, ...made, body: [...statements(`.reg .b32 ${LIVE};`), ...body] };
}

/** Barriers of the whole warp on this way that are reached by the branch alone. */
function barriersBehind(flow: Flow, at: number, stay: number | undefined): readonly Instruction[] {
  const known = definitions(flow);
  return flow.instructions.filter(
    (one, i) =>
      isWarpBarrier(one) &&
      isFullMask(constantValue(maskOf(one), known)) &&
      comesBefore(flow, at, i) &&
      reaches(flow, stay, i),
  );
}

/** May lanes wait for others of their warp here, or in a function that is called? */
const meets = ({ operation }: Instruction) =>
  operation.opcode === "call" || operation.modifiers.includes("sync") || isCollective(operation);

/** Only barriers are named anew: what a shuffle reads from a lane that has exited is undefined in the kernel itself. */
const isWarpBarrier = ({ operation: { opcode, modifiers } }: Instruction) =>
  opcode === "bar" && modifiers[0] === "warp";

const parts = (how: string | undefined) => how === "varying" || how === "lanes";

/** The branch at which lanes of a warp part, if all of them come to it together, and once. */
function firstParting(flow: Flow, { parting }: Uniformity): number | undefined {
  const apart = [...flow.blocks.keys()].filter((n) => parts(parting[n]));
  const [first] = apart.filter((n) => {
    const start = flow.blocks[n]?.first ?? 0;
    return apart.every((other) => !leads(flow, other, start));
  });
  return first === undefined ? undefined : (flow.blocks[first]?.end ?? 0) - 1;
}

/** Does a path lead from the end of the block to the instruction? */
const leads = (flow: Flow, block: number, to: number): boolean =>
  (flow.blocks[block]?.successors ?? []).some((one) => reaches(flow, one, to));

/** The block where the branch goes if it is taken, and the one behind it; undefined: the exit. */
function waysOf(flow: Flow, at: number): readonly [number | undefined, number | undefined] {
  const { successors = [] } = flow.blocks[flow.blockOf[at] ?? 0] ?? {};
  const taken = flow.instructions[at]?.operation.opcode === "bra";
  return taken ? [successors[0], successors[1]] : [undefined, successors[0]];
}

/** Does a path lead from the start of the block to the instruction? */
function reaches(flow: Flow, block: number | undefined, to: number): boolean {
  if (block === undefined) return false;
  const paths = new Paths(flow, flow.blocks[block]?.first);
  return paths.leadTo(flow.blockOf[to] ?? -1);
}

function withMask(one: Instruction): Instruction {
  const mask: Operand = { kind: "name", name: LIVE };
  return { ...one, ...made, operands: [mask] };
}
