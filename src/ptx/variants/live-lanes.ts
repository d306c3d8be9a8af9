// live-lanes: barriers of a whole warp name the lanes that are left after an early exit.
//
//                                            vote.sync.ballot.b32 %cotenant_live, !%p, 0xffffffff;
//   @%p bra $exit;                     ->    @%p bra $exit;
//   bar.warp.sync 0xffffffff;                bar.warp.sync %cotenant_live;
//
// A warp's barrier waits for the lanes of its mask that have not exited (CUDA programming guide, __syncwarp), so the
// kernel computes the same. In a preemptible variant the lanes are parked instead, and the barrier does not wait for them.
// They must not meet the others on their way, or the barriers would not order what both wrote before.

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

/** undefined if its lanes part elsewhere first, or if there is nothing to name. */
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

const meets = ({ operation }: Instruction) =>
  operation.opcode === "call" || operation.modifiers.includes("sync") || isCollective(operation);

/** A shuffle that reads from an exited lane is undefined in the kernel itself, so it stays. */
const isWarpBarrier = ({ operation: { opcode, modifiers } }: Instruction) =>
  opcode === "bar" && modifiers[0] === "warp";

const parts = (how: string | undefined) => how === "varying" || how === "lanes";

/** All lanes have to come to it together, and once. */
function firstParting(flow: Flow, found: Uniformity): number | undefined {
  const { parting } = found;
  const apart = [...flow.blocks.keys()].filter((n) => parts(parting[n]));
  const [first] = apart.filter((n) => {
    const start = flow.blocks[n]?.first ?? 0;
    return apart.every((other) => !leads(flow, other, start));
  });
  const at = first === undefined ? undefined : (flow.blocks[first]?.end ?? 0) - 1;
  return at === undefined || waitsApart(flow, found, at) ? undefined : at;
}

/** Lanes that pass an operation of the warp by may leave while others wait there for them. */
const waitsApart = (flow: Flow, found: Uniformity, at: number): boolean =>
  flow.instructions.some(
    (one, i) =>
      one.predicate !== undefined &&
      meets(one) &&
      parts(found.of(one.predicate.register)) &&
      ((i < at && flow.blockOf[i] === flow.blockOf[at]) || leads(flow, flow.blockOf[i] ?? 0, at)),
  );

const leads = (flow: Flow, block: number, to: number): boolean =>
  (flow.blocks[block]?.successors ?? []).some((one) => reaches(flow, one, to));

/** The first is for a taken branch, the second is behind it; undefined: the exit. */
function waysOf(flow: Flow, at: number): readonly [number | undefined, number | undefined] {
  const { successors = [] } = flow.blocks[flow.blockOf[at] ?? 0] ?? {};
  const taken = flow.instructions[at]?.operation.opcode === "bra";
  return taken ? [successors[0], successors[1]] : [undefined, successors[0]];
}

function reaches(flow: Flow, block: number | undefined, to: number): boolean {
  if (block === undefined) return false;
  const paths = new Paths(flow, flow.blocks[block]?.first);
  return paths.leadTo(flow.blockOf[to] ?? -1);
}

function withMask(one: Instruction): Instruction {
  const mask: Operand = { kind: "name", name: LIVE };
  return { ...one, ...made, operands: [mask] };
}
