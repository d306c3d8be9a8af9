// Ends the arrivals that a block leaves in barriers, as at the end of a pipeline whose last step nobody waits for:
//
//   bar.arrive id, threads;   ->   lane 0: ++warps of id; among of id |= this warp; the same
//   bar.sync id, threads;     ->   lane 0: ++warps of id; the same
//   ...                            ...
//                                  all: wait; (warps of id) % (threads / 32) are left in it: if there are some, as many
//                                  other warps arrive as complete it; wait
//
// A barrier opens for each `threads / 32` warps that come to it. All who waited have gone on when the block is done, so
// only arrivals are left. Warps that have not arrived there in this block come first: a program has no warp arrive twice
// before a barrier opens, and neither does the variant as long as there are others.
import { type Arrivals, hasCount } from "../endings/barriers.ts";
import type { Instruction, Operand, Statement } from "../syntax/syntax.ts";
import { appended } from "./appended.ts";
import { statements } from "./template.ts";

const { words } = appended.preempt;
/** The number of warps that have come, and a bit for each that has arrived. */
const BYTES = 8;

export const bytesOfArrivals = (arrivals: Arrivals | undefined): number =>
  arrivals === undefined ? 0 : BYTES * (arrivals.last - arrivals.first + 1);

const THREADS_OF_WARP = 32;

const warpNumber = `
  mov.u32 %cotenant_b, %tid.z; mov.u32 %cotenant_c, %ntid.y; mul.lo.u32 %cotenant_b, %cotenant_b, %cotenant_c;
  mov.u32 %cotenant_c, %tid.y; add.u32 %cotenant_b, %cotenant_b, %cotenant_c;
  mov.u32 %cotenant_c, %ntid.x; mul.lo.u32 %cotenant_b, %cotenant_b, %cotenant_c;
  mov.u32 %cotenant_c, %tid.x; add.u32 %cotenant_b, %cotenant_b, %cotenant_c;
  shr.u32 %cotenant_b, %cotenant_b, 5;`;

/** `from`: the offset of the counts in the shared words. `before` is the instruction as the source has it. */
export function withCount(
  before: Instruction,
  made: readonly Statement[],
  arrivals: Arrivals | undefined,
  from: number,
): readonly Statement[] {
  if (arrivals === undefined || !arrivals.at.has(before.at) || !hasCount(before)) return made;
  const { predicate, operation, operands } = before;
  const how =
    predicate === undefined
      ? "setp.eq.u32 %cotenant_is, %cotenant_a, 0;"
      : `setp.eq.and.u32 %cotenant_is, %cotenant_a, 0, ${predicate.negated ? "!" : ""}${predicate.register};`;
  const arrives = operation.modifiers.includes("arrive");
  const counts = `
  mov.u32 %cotenant_a, %laneid;
  ${how}
  mov.u32 %cotenant_a, ${textOf(operands[0])};
  mul.lo.u32 %cotenant_a, %cotenant_a, ${BYTES};
  mov.u32 %cotenant_b, ${words};
  add.u32 %cotenant_a, %cotenant_a, %cotenant_b;
  mov.u32 %cotenant_b, 1;
  @%cotenant_is red.shared.add.u32 [%cotenant_a+${from - BYTES * arrivals.first}], %cotenant_b;`;
  const notes = `${warpNumber}
  mov.u32 %cotenant_c, 1;
  shl.b32 %cotenant_b, %cotenant_c, %cotenant_b;
  @%cotenant_is red.shared.or.b32 [%cotenant_a+${from - BYTES * arrivals.first + 4}], %cotenant_b;`;
  return [...statements(counts, arrives ? notes : ""), ...made];
}

const textOf = (operand: Operand | undefined): string =>
  operand?.kind === "name" ? operand.name : operand?.kind === "immediate" ? operand.text : "";

/** All threads execute it when all are done with the block; another barrier must follow. */
export function completeBarriers(arrivals: Arrivals | undefined, from: number): string {
  if (arrivals === undefined) return "";
  return [...arrivals.warps]
    .map(
      ([id, warps]) => `
  ld.shared.v2.u32 {%cotenant_a, %cotenant_size}, [${words}+${from + BYTES * (id - arrivals.first)}];
  rem.u32 %cotenant_a, %cotenant_a, ${warps};
  sub.u32 %cotenant_a, ${warps}, %cotenant_a;
  rem.u32 %cotenant_a, %cotenant_a, ${warps};
  ${warpNumber}
  mov.u32 %cotenant_c, -1;
  shl.b32 %cotenant_c, %cotenant_c, %cotenant_b;
  not.b32 %cotenant_c, %cotenant_c;
  and.b32 %cotenant_c, %cotenant_c, %cotenant_size;
  popc.b32 %cotenant_c, %cotenant_c;
  shr.u32 %cotenant_claim, %cotenant_size, %cotenant_b;
  and.b32 %cotenant_claim, %cotenant_claim, 1;
  setp.ne.u32 %cotenant_is, %cotenant_claim, 0;
  sub.u32 %cotenant_b, %cotenant_b, %cotenant_c;
  popc.b32 %cotenant_size, %cotenant_size;
  sub.u32 %cotenant_c, %cotenant_c, %cotenant_size;
  mov.u32 %cotenant_claim, %ntid.x; mov.u32 %cotenant_size, %ntid.y; mul.lo.u32 %cotenant_claim, %cotenant_claim, %cotenant_size;
  mov.u32 %cotenant_size, %ntid.z; mul.lo.u32 %cotenant_claim, %cotenant_claim, %cotenant_size;
  shr.u32 %cotenant_claim, %cotenant_claim, 5;
  add.u32 %cotenant_c, %cotenant_c, %cotenant_claim;
  selp.u32 %cotenant_b, %cotenant_c, %cotenant_b, %cotenant_is;
  setp.lt.u32 %cotenant_is, %cotenant_b, %cotenant_a;
  @%cotenant_is barrier.arrive ${id}, ${warps * THREADS_OF_WARP};`,
    )
    .join("");
}

/** One thread executes it. */
export function forgetArrivals(
  arrivals: Arrivals | undefined,
  from: number,
  predicate: string,
): string {
  const count = bytesOfArrivals(arrivals) / BYTES;
  const places = Array.from({ length: count }, (_, i) => `${words}+${from + BYTES * i}`);
  if (places.length === 0) return "";
  return `mov.u32 %cotenant_a, 0;
  ${places.map((at) => `${predicate}st.shared.v2.u32 [${at}], {%cotenant_a, %cotenant_a};`).join("\n")}`;
}
