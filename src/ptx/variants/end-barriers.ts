// Ends the mbarriers of a block that its program does not end, so that the next block can make its own:
//
//   @%p mbarrier.init [bar], 1;         ->   the same; @%p red.shared.or.b32 [made], bit;
//   mbarrier.arrive.expect_tx _, [at]   ->   the same, but it returns its state; st.shared.v2 [expected of at], {state, 1};
//   mbarrier.expect_tx [at]             ->   the same; st.shared.v2 [expected of at], {parity of the phase, 2};
//   mbarrier.arrive _, [at]             ->   if the expected phase has ended, forget it; the same
//   ...                                      ...
//                                            one thread, if the bit is there: wait for the expected phase;
//                                            mbarrier.inval [bar];
//
// An mbarrier that each block makes needs no bit. Only the last phase in which copies were expected matters: the earlier
// ones have ended, or it would not have begun. The parity is read behind the announcement: if that phase has ended by
// then, its copies have come, and the parity is that of a later one.
import type { Arrivals } from "../endings/barriers.ts";
import type { EndedBarrier, Ending, ExpectedPhases, Expecting } from "../endings/outstanding.ts";
import {
  type Instruction,
  type Memory,
  made,
  type Operand,
  type Statement,
} from "../syntax/syntax.ts";
import { appended } from "./appended.ts";
import { bytesOfArrivals } from "./left-arrivals.ts";
import { statements } from "./template.ts";

/** It looks for some 20 ms, and a copy takes microseconds, but a phase may never end. */
const LOOKS = 2 ** 20;

const { words, wordsBytes } = appended.preempt;
/** A word behind those of the claims says which mbarriers a block has made. */
const MADE = `${words}+48`;
/** Each byte of the memory with the mbarriers has these bytes: a state and whether it is there. */
const STATE = 2;

export function wordsFor(ending: Ending, arrivals: Arrivals | undefined): number {
  const all = arrivalsFrom(ending) + bytesOfArrivals(arrivals);
  return 2 ** Math.ceil(Math.log2(all));
}

/** Arrivals are counted behind what is kept of mbarriers. */
export const arrivalsFrom = ({ phases }: Ending): number =>
  wordsBytes + STATE * (phases?.bytes ?? 0);

const isNoted = ({ sometimes }: EndedBarrier) => sometimes.length > 0;
const notedBarriers = ({ once }: Ending) => once.filter(isNoted);
const bitOf = (place: number) => (1 << place) >>> 0;

export function withNotes(
  before: Instruction,
  one: Instruction,
  ending: Ending,
): readonly Statement[] {
  if (before.operation.opcode !== "mbarrier") return [one];
  const { phases } = ending;
  const how = phases?.at.get(before.at);
  if (phases !== undefined && how === "arriving") return withState(one, phases);
  if (phases !== undefined && how === "apart") return withParity(one, phases);
  if (phases?.arrivals.has(before.at)) return [...forgottenIfOver(one, phases), one];
  const place = notedBarriers(ending).findIndex(({ sometimes }) => sometimes.includes(before.at));
  if (place < 0) return [one];
  return [
    one,
    ...guarded(
      one,
      `mov.b32 %cotenant_a, ${bitOf(place)}; red.shared.or.b32 [${MADE}], %cotenant_a;`,
    ),
  ];
}

/** The second word of a kept phase is one of these. */
const [BY_STATE, BY_PARITY] = [1, 2];

function withState(one: Instruction, phases: ExpectedPhases): readonly Statement[] {
  const [state, at, ...rest] = one.operands;
  if (at?.kind !== "memory") return [one];
  const wanted: Operand | undefined =
    state?.kind === "name" && state.name !== "_"
      ? state
      : { kind: "name", name: "%cotenant_counter" };
  return [
    { ...one, ...made, operands: [wanted, at, ...rest] },
    ...guarded(one, keptPhase(at, phases, wanted.name, BY_STATE)),
  ];
}

function withParity(one: Instruction, phases: ExpectedPhases): readonly Statement[] {
  const [at] = one.operands;
  if (at?.kind !== "memory") return [one];
  const { base, offset } = at;
  return [
    one,
    ...guarded(
      one,
      `mbarrier.test_wait.parity.shared::cta.b64 %cotenant_is, [${base.kind === "name" ? base.name : ""}${offset}], 0;
  selp.b64 %cotenant_counter, 1, 0, %cotenant_is;
  ${keptPhase(at, phases, "%cotenant_counter", BY_PARITY)}`,
    ),
  ];
}

/**
 * A later phase without copies begins: what is kept of an earlier one would look like what is kept of the one after it.
 * Another thread may keep a phase at this time; that stays.
 */
function forgottenIfOver(one: Instruction, phases: ExpectedPhases): readonly Statement[] {
  const at = one.operands.find((operand) => operand.kind === "memory");
  if (at?.kind !== "memory" || at.base.kind !== "name") return [];
  const ways = new Set(phases.at.values());
  const place = `[${at.base.name}${at.offset}]`;
  const { predicate } = one;
  const and = predicate === undefined ? "" : ".and";
  const guard =
    predicate === undefined ? "" : `, ${predicate.negated ? "!" : ""}${predicate.register}`;
  const kept = (way: number, test: string) => `
  setp.eq${and}.u64 %cotenant_is, %cotenant_other, ${way}${guard};
  setp.ne.and.u64 %cotenant_is, %cotenant_counter, ${OVER}, %cotenant_is;
  @%cotenant_is mbarrier.test_wait${test};
  @%cotenant_is atom.shared.cas.b64 %cotenant_counter, [%cotenant_a+${wordsBytes}], %cotenant_counter, ${OVER};`;
  return statements(`${recordOf(at, phases)}
  ld.shared.v2.b64 {%cotenant_counter, %cotenant_other}, [%cotenant_a+${wordsBytes}];
  ${ways.has("arriving") ? kept(BY_STATE, `.shared.b64 %cotenant_is, ${place}, %cotenant_counter`) : ""}
  ${ways.has("apart") ? `cvt.u32.u64 %cotenant_b, %cotenant_counter;${kept(BY_PARITY, `.parity.shared.b64 %cotenant_is, ${place}, %cotenant_b`)}` : ""}`);
}

/** No state or parity is like this. */
const OVER = -1;

function keptPhase(at: Memory, phases: ExpectedPhases, phase: string, how: number): string {
  return `${recordOf(at, phases)}
  mov.b64 %cotenant_other, ${how};
  st.shared.v2.b64 [%cotenant_a+${wordsBytes}], {${phase}, %cotenant_other};`;
}

/** %cotenant_a is where the phase of this mbarrier is kept, less the offset behind the words. */
const recordOf = ({ base, offset }: Memory, phases: ExpectedPhases): string =>
  `mov.u32 %cotenant_a, ${base.kind === "name" ? base.name : ""}; mov.u32 %cotenant_b, ${phases.name};
  sub.u32 %cotenant_a, %cotenant_a, %cotenant_b;
  add.u32 %cotenant_a, %cotenant_a, ${Number(offset.replace("+-", "-")) - phases.offset};
  mul.lo.u32 %cotenant_a, %cotenant_a, ${STATE};
  mov.u32 %cotenant_b, ${words}; add.u32 %cotenant_a, %cotenant_a, %cotenant_b;`;

/** Memory is accessed only where the instruction is executed. */
const guarded = ({ predicate }: Instruction, text: string): readonly Statement[] =>
  statements(text).map((one) =>
    one.kind === "instruction" && /^(st|red|mbarrier)$/.test(one.operation.opcode)
      ? { ...one, predicate }
      : one,
  );

/** All threads execute it before a worker's first block; only the first one writes. */
export function forgetNotes(ending: Ending): string {
  const all = ending.once.map((one) => (ending.phases ? stateOf(one, ending.phases) : ""));
  const some = notedBarriers(ending).length > 0;
  if (!some && ending.phases === undefined) return "";
  return `mov.u32 %cotenant_a, 0; mov.b64 %cotenant_other, 0;
  ${some ? `@%cotenant_first st.shared.u32 [${MADE}], %cotenant_a;` : ""}
  ${all.map((at) => at && `@%cotenant_first st.shared.v2.b64 [${at}], {%cotenant_other, %cotenant_other};`).join("\n")}`;
}

const stateOf = ({ offset }: EndedBarrier, phases: ExpectedPhases) =>
  `${words}+${wordsBytes + STATE * (offset - phases.offset)}`;

/** One thread executes it when all are done with a block; "" if there is nothing to end. */
export function endBarriers(ending: Ending): string {
  const some = notedBarriers(ending);
  const { phases } = ending;
  const ways = new Set(phases?.at.values());
  return [
    ways.size > 1 ? ".reg .pred %cotenant_apart;" : "",
    some.length > 0 ? `ld.shared.u32 %cotenant_size, [${MADE}];` : "",
    ...ending.once.map((one, i) => {
      const end = `${phases === undefined ? "" : awaitCopies(one, phases, i)}
  mbarrier.inval.shared.b64 [${one.name}+${one.offset}];`;
      if (!isNoted(one)) return end;
      return `
  and.b32 %cotenant_a, %cotenant_size, ${bitOf(some.indexOf(one))};
  setp.eq.u32 %cotenant_is, %cotenant_a, 0;
  @%cotenant_is bra $cotenant_ended_${i};
  ${end}
$cotenant_ended_${i}:`;
    }),
    some.length > 0 ? `mov.u32 %cotenant_a, 0; st.shared.u32 [${MADE}], %cotenant_a;` : "",
  ]
    .filter((text) => text !== "")
    .join("\n");
}

function awaitCopies(one: EndedBarrier, phases: ExpectedPhases, i: number): string {
  const ways = new Set(phases.at.values());
  const place = `[${one.name}+${one.offset}]`;
  const byState = `mbarrier.test_wait.shared.b64 %cotenant_is, ${place}, %cotenant_counter;`;
  const byParity = `mbarrier.test_wait.parity.shared.b64 %cotenant_is, ${place}, %cotenant_b;`;
  const test = !ways.has("apart")
    ? byState
    : ways.has("arriving")
      ? `@!%cotenant_apart ${byState}\n  @%cotenant_apart ${byParity}`
      : byParity;
  return `
  ld.shared.v2.b64 {%cotenant_counter, %cotenant_other}, [${stateOf(one, phases)}];
  setp.eq.u64 %cotenant_is, %cotenant_other, 0;
  @%cotenant_is bra $cotenant_landed_${i};${phases.arrivals.size > 0 ? unlessOver(i) : ""}${ways.has("apart") ? asParity(ways) : ""}
  mov.u32 %cotenant_a, ${LOOKS};
$cotenant_look_${i}:
  ${test}
  @%cotenant_is bra $cotenant_seen_${i};
  sub.u32 %cotenant_a, %cotenant_a, 1;
  setp.ne.u32 %cotenant_is, %cotenant_a, 0;
  @%cotenant_is bra $cotenant_look_${i};
$cotenant_seen_${i}:
  mov.b64 %cotenant_other, 0;
  st.shared.v2.b64 [${stateOf(one, phases)}], {%cotenant_other, %cotenant_other};
$cotenant_landed_${i}:`;
}

const unlessOver = (i: number) => `
  setp.eq.u64 %cotenant_is, %cotenant_counter, ${OVER};
  @%cotenant_is bra $cotenant_seen_${i};`;

const asParity = (ways: ReadonlySet<Expecting>) => `
  cvt.u32.u64 %cotenant_b, %cotenant_counter;${ways.has("arriving") ? `\n  setp.eq.u64 %cotenant_apart, %cotenant_other, ${BY_PARITY};` : ""}`;
