// preempt: a kernel whose blocks are persistent workers, which claim blocks of the original kernel in rising order until
// none are left or the launch is stopped. A launch finishes all claimed blocks, and a later one goes on with the next.
//
//   {                           {
//     body                        block 0 watches the flag; when it is set, next = max(next, 2^31); others:
//     ret;                      $cotenant_next:
//   }                             if (--left > 0) ++%ctaid, else
//                                 thread 0: claim = next, next += size; hands over claim and left = size, or 0
//                                 all: wait; read them; ret if left is 0; %ctaid = claim, taken apart by the grid
//                                 body
//                               $cotenant_done:
//                                 each warp: wait; bra $cotenant_next;
//                               }
//
// The flag is in host memory and slow to read, so one block (the sentinel) polls it for all workers. It sets the counter
// beyond the last block, so a worker learns of a stop as it claims a block. Launches use the two counters alternately: the
// sentinel copies the number of claimed blocks. Thread 0 claims when its own part of a block is done, which hides most of
// the latency; claiming earlier would hide all of it, but a worker would execute one more block after a stop. A GPU adds to
// one word in about 0.9 ns and starts a block in 0.6 ns, so a claim takes several blocks where they are short.
//
// A block that waits for a lower one waits for a claimed block: claims are executed in rising order, so the lowest
// unfinished block is being executed. Kernels whose blocks wait for lower ones claim one block at a time, in that order.

import { type CallGraph, hasOperation } from "../analysis/call-graph.ts";
import { sharedMemory } from "../analysis/memory-sizes.ts";
import { type Func, type Module, made, type Operation } from "../syntax/syntax.ts";
import { appended } from "./appended.ts";
import {
  blockNumbersIn,
  callees,
  registerOf,
  storesFor,
  withOurNumbers,
  withOurs,
} from "./block-number.ts";
import { arrivalsFrom, endBarriers, forgetNotes, withNotes } from "./end-barriers.ts";
import { type Variants, withVariants } from "./insert-variants.ts";
import { completeBarriers, forgetArrivals, withCount } from "./left-arrivals.ts";
import { kernels, type PreemptPlan, preemptPlan } from "./legality.ts";
import { rewrite } from "./rewrite.ts";
import { parameter, statements } from "./template.ts";
import { isExit, leaveTo, unifyKernel } from "./unify-sync.ts";

export function preempt(module: Module): Module {
  return withVariants(
    module,
    kernels(module).flatMap((kernel) => {
      const plan = preemptPlan(kernel, module);
      return plan.verdict.legal ? [variant(kernel, plan, module)] : [];
    }),
  );
}

function variant(original: Func, plan: PreemptPlan, module: Module): Variants {
  const { kernel, graph, barriers, ending, verdict } = plan;
  const { arrivals } = barriers;
  const from = arrivalsFrom(ending);
  const { suffix, params } = appended.preempt;
  const others = callees(graph, appended.preempt);
  const whole = barriers.unify ? unifyKernel(kernel, barriers.free) : kernel;
  const names = withOurs(others.names);
  const body = rewrite(whole.body ?? [], (one) => {
    if (isExit(one)) return leaveTo(one, "$cotenant_done");
    if (one.operation.opcode === "setmaxnreg")
      return wholeWarp.map((meet) => ({ ...meet, predicate: one.predicate }));
    const ours = withOurNumbers(one, names);
    return ours && withCount(one, withNotes(one, ours, ending), arrivals, from);
  });
  const reads = blockNumbersIn(kernel);
  const gridReads = [...reads].filter((one) => one.startsWith("%nctaid"));
  const flat = ![...reads, ...others.reads].some((one) => /^%ctaid\.[yz]$/.test(one));
  const order = plan.lookBack === "columns" ? "columns" : flat ? "row" : "rows";
  // Device functions read one block's number, and a block that others wait for must start at once.
  const batches = others.reads.size === 0 && plan.lookBack === undefined;
  const persistent: Func = {
    ...kernel,
    ...made,
    name: kernel.name + suffix,
    params: [...kernel.params, ...params.map(parameter)],
    body: [
      ...statements(
        registers,
        roles,
        watch,
        begin(batches, forgetNotes(ending) + forgetArrivals(arrivals, from, "@%cotenant_first ")),
        ...claim(barriers.free, { batches, order, calleeReads: others.reads }),
        ...(batches ? step(sharesBlocks(graph, module) ? barriers.free : undefined, flat) : []),
        "$cotenant_body:",
        grid(gridReads),
      ),
      ...body,
      ...statements(
        done(barriers.free, {
          each: ending.each,
          all: completeBarriers(arrivals, from),
          once: endBarriers(ending) + forgetArrivals(arrivals, from, ""),
        }),
      ),
    ],
  };
  return {
    kernel: original,
    items: [...others.items, persistent],
    shared: [{ name: words, bytes: verdict.sharedBytes }],
  };
}

/** A warp that gave up registers would lack them in the next block (decision 0056). */
const wholeWarp = statements("bar.warp.sync 0xffffffff;").filter(
  (one) => one.kind === "instruction",
);

const { words } = appended.preempt;

const registers = `
  .reg .pred %cotenant_first, %cotenant_is;
  .reg .b32 %cotenant_a, %cotenant_b, %cotenant_c, %cotenant_claim, %cotenant_size, %cotenant_left, %cotenant_total;
  .reg .b32 %cotenant_nx, %cotenant_ny, %cotenant_at;
  .reg .b32 %cotenant_ctaid_x, %cotenant_ctaid_y, %cotenant_ctaid_z;
  .reg .b64 %cotenant_counter, %cotenant_other;
`;

const total = `
  ld.param.u32 %cotenant_nx, [cotenant_nctaid_x];
  ld.param.u32 %cotenant_ny, [cotenant_nctaid_y];
  ld.param.u32 %cotenant_a, [cotenant_nctaid_z];
  mul.lo.u32 %cotenant_total, %cotenant_nx, %cotenant_ny;
  mul.lo.u32 %cotenant_total, %cotenant_total, %cotenant_a;
`;

/** It is computed for each claim: kept, it would take two registers during every block. */
const counter = `
  ld.param.u64 %cotenant_counter, [cotenant_control];
  cvta.to.global.u64 %cotenant_counter, %cotenant_counter;
  ld.param.u32 %cotenant_a, [cotenant_epoch];
  and.b32 %cotenant_a, %cotenant_a, 1;
  mul.wide.u32 %cotenant_other, %cotenant_a, 4;
  add.u64 %cotenant_counter, %cotenant_counter, %cotenant_other;
`;

/** Thread 0 claims for its block; block 0 is the sentinel. */
const roles = `
  mov.u32 %cotenant_a, %tid.x;
  mov.u32 %cotenant_b, %tid.y;
  or.b32 %cotenant_a, %cotenant_a, %cotenant_b;
  mov.u32 %cotenant_b, %tid.z;
  or.b32 %cotenant_a, %cotenant_a, %cotenant_b;
  setp.eq.u32 %cotenant_first, %cotenant_a, 0;
  mov.u32 %cotenant_a, %ctaid.x;
  setp.ne.u32 %cotenant_is, %cotenant_a, 0;
  @%cotenant_is bra $cotenant_begin;
  @!%cotenant_first ret;
`;

/** Nanoseconds between two reads of the flag; a read of host memory takes about as long. */
const NAP = 500;

/** Cycles that claims of several blocks may add to a stop: about 8 us at 1.9 GHz. */
const AHEAD = 15_000;
/** The most blocks in one claim, because long blocks may follow short ones. */
const MAX_BLOCKS_A_CLAIM = 4;
/** Cap for measured cycles, so that products fit into 32 bits. */
const LONGEST = 2 ** 20;

/** The sentinel stores where the next launch begins. */
const watch = `
  .reg .b64 %cotenant_flag;
  ld.param.u64 %cotenant_flag, [cotenant_flag];
  setp.eq.u64 %cotenant_is, %cotenant_flag, 0;
  @%cotenant_is ret;
  cvta.to.global.u64 %cotenant_flag, %cotenant_flag;
  ${counter}
  xor.b64 %cotenant_other, %cotenant_counter, 4;
  ${total}
$cotenant_watch:
  ld.relaxed.gpu.global.u32 %cotenant_a, [%cotenant_counter];
  ld.relaxed.sys.global.u32 %cotenant_b, [%cotenant_flag];
  setp.ge.u32 %cotenant_is, %cotenant_a, %cotenant_total;
  @%cotenant_is bra $cotenant_over;
  setp.ne.u32 %cotenant_is, %cotenant_b, 0;
  @%cotenant_is bra $cotenant_stop;
  nanosleep.u32 ${NAP};
  bra $cotenant_watch;
$cotenant_stop:
  atom.relaxed.gpu.global.max.u32 %cotenant_a, [%cotenant_counter], ${2 ** 31};
$cotenant_over:
  st.relaxed.gpu.global.u32 [%cotenant_other], %cotenant_a;
  ret;
`;

/** A claim has these bytes in the shared words: its first block and size. There are two of them. */
const CLAIM = 16;
/**
 * Thread 0's words are here: last claim's time, longest time of a block, a claim's size and end.
 */
const KEPT = 2 * CLAIM;
/** A register holds the blocks left of a claim, plus this for the second of the two places. */
const TURN = 256;

/** A worker's first claim is one block, because no block has been timed. */
const begin = (batches: boolean, forget: string) => `
$cotenant_begin:
  mov.u32 %cotenant_left, 1;
  ${forget}
  ${batches ? kept : ""}
$cotenant_next:
  sub.u32 %cotenant_left, %cotenant_left, 1;
  ${batches ? more : ""}
`;

/** It has no branch: lanes would arrive at the loop's head separately after one (see `done`). */
const kept = [
  total,
  `
  mov.u32 %cotenant_a, %clock;
  mov.u32 %cotenant_b, 0;
  mov.u32 %cotenant_size, 1;
  @%cotenant_first st.shared.v4.u32 [${words}+${KEPT}], {%cotenant_a, %cotenant_b, %cotenant_size, %cotenant_total};`,
].join("\n");

const more = `
  and.b32 %cotenant_a, %cotenant_left, ${TURN - 1};
  setp.ne.u32 %cotenant_is, %cotenant_a, 0;
  @%cotenant_is bra $cotenant_step;
`;

interface Claims {
  readonly batches: boolean;
  readonly order: keyof typeof takenApart;
  readonly calleeReads: ReadonlySet<string>;
}

/**
 * One barrier ends the previous block and publishes the claim. Claims alternate between two places:
 * a thread at it has read the previous one. Device functions read the first place during a block,
 * so with them another barrier comes first.
 */
const claim = (barrier: number, { batches, order, calleeReads }: Claims) => [
  calleeReads.size > 0 ? `barrier.sync ${barrier}; mov.u32 %cotenant_at, ${words};` : turn,
  "@!%cotenant_first bra $cotenant_wait;",
  total,
  batches ? sizeOfClaim : "mov.u32 %cotenant_size, 1;",
  counter,
  claimed,
  batches ? `st.shared.v2.u32 [${words}+${KEPT + 8}], {%cotenant_size, %cotenant_a};` : "",
  takenApart[order],
  handedOver,
  gridFor(calleeReads),
  `$cotenant_wait: barrier.sync ${barrier};`,
  taken,
];

const turn = `
  xor.b32 %cotenant_left, %cotenant_left, ${TURN};
  shr.u32 %cotenant_at, %cotenant_left, ${Math.log2(TURN / CLAIM)};
  mov.u32 %cotenant_a, ${words};
  add.u32 %cotenant_at, %cotenant_at, %cotenant_a;
`;

const claimed = `
  atom.relaxed.gpu.global.add.u32 %cotenant_claim, [%cotenant_counter], %cotenant_size;
  setp.lt.u32 %cotenant_is, %cotenant_claim, %cotenant_total;
  sub.u32 %cotenant_b, %cotenant_total, %cotenant_claim;
  min.u32 %cotenant_b, %cotenant_b, %cotenant_size;
  add.u32 %cotenant_a, %cotenant_claim, %cotenant_b;
  or.b32 %cotenant_left, %cotenant_left, %cotenant_b;
  selp.u32 %cotenant_left, %cotenant_left, 0, %cotenant_is;
`;

const coordinates = (beyondX: string) => `
  mov.u32 %cotenant_ctaid_x, %cotenant_claim;
  mov.u32 %cotenant_ctaid_y, 0;
  mov.u32 %cotenant_ctaid_z, 0;
  setp.lt.u32 %cotenant_is, %cotenant_claim, %cotenant_nx;
  @%cotenant_is bra $cotenant_apart;
  rem.u32 %cotenant_ctaid_x, %cotenant_claim, %cotenant_nx;
${beyondX}$cotenant_apart:
`;

const alongX = coordinates("");

const apart = coordinates(`  div.u32 %cotenant_ctaid_y, %cotenant_claim, %cotenant_nx;
  setp.lt.u32 %cotenant_is, %cotenant_ctaid_y, %cotenant_ny;
  @%cotenant_is bra $cotenant_apart;
  div.u32 %cotenant_ctaid_z, %cotenant_ctaid_y, %cotenant_ny;
  rem.u32 %cotenant_ctaid_y, %cotenant_ctaid_y, %cotenant_ny;
`);

/** z counts slowest, as in the original; then x. A grid of one row needs no division. */
const byColumns = `
  mov.u32 %cotenant_ctaid_x, %cotenant_claim;
  mov.u32 %cotenant_ctaid_y, 0;
  mov.u32 %cotenant_ctaid_z, 0;
  setp.eq.u32 %cotenant_is, %cotenant_total, %cotenant_nx;
  @%cotenant_is bra $cotenant_apart;
  mul.lo.u32 %cotenant_a, %cotenant_nx, %cotenant_ny;
  div.u32 %cotenant_ctaid_z, %cotenant_claim, %cotenant_a;
  rem.u32 %cotenant_a, %cotenant_claim, %cotenant_a;
  div.u32 %cotenant_ctaid_x, %cotenant_a, %cotenant_ny;
  rem.u32 %cotenant_ctaid_y, %cotenant_a, %cotenant_ny;
$cotenant_apart:
`;

const takenApart = { row: alongX, rows: apart, columns: byColumns };

const handedOver = `
  st.shared.v4.u32 [%cotenant_at], {%cotenant_ctaid_x, %cotenant_ctaid_y, %cotenant_ctaid_z, %cotenant_left};
`;

const taken = `
  bar.warp.sync 0xffffffff;
  ld.shared.v4.u32 {%cotenant_ctaid_x, %cotenant_ctaid_y, %cotenant_ctaid_z, %cotenant_left}, [%cotenant_at];
  setp.ne.u32 %cotenant_is, %cotenant_left, 0;
  @%cotenant_is bra $cotenant_body;
  ret;
`;

/**
 * A stop waits for the whole claim. A block is estimated by the longest recent one, because a short
 * one says nothing about the next. The size halves far above AHEAD, or beyond half of the worker's
 * share of what remains, so that workers end together.
 */
const sizeOfClaim = `
  ld.shared.v4.u32 {%cotenant_b, %cotenant_c, %cotenant_size, %cotenant_claim}, [${words}+${KEPT}];
  mov.u32 %cotenant_a, %clock;
  st.shared.u32 [${words}+${KEPT}], %cotenant_a;
  sub.u32 %cotenant_b, %cotenant_a, %cotenant_b;
  shr.u32 %cotenant_a, %cotenant_size, 1;
  shr.u32 %cotenant_b, %cotenant_b, %cotenant_a;
  shr.u32 %cotenant_a, %cotenant_c, 3;
  sub.u32 %cotenant_c, %cotenant_c, %cotenant_a;
  max.u32 %cotenant_b, %cotenant_b, %cotenant_c;
  min.u32 %cotenant_b, %cotenant_b, ${LONGEST};
  st.shared.u32 [${words}+${KEPT + 4}], %cotenant_b;
  mul.lo.u32 %cotenant_c, %cotenant_b, %cotenant_size;
  sub.u32 %cotenant_b, %cotenant_c, %cotenant_b;
  add.u32 %cotenant_c, %cotenant_c, %cotenant_b;
  setp.le.u32 %cotenant_is, %cotenant_c, ${AHEAD};
  sub.u32 %cotenant_claim, %cotenant_total, %cotenant_claim;
  mov.u32 %cotenant_c, %nctaid.x;
  mul.lo.u32 %cotenant_c, %cotenant_c, %cotenant_size;
  shl.b32 %cotenant_c, %cotenant_c, 2;
  setp.le.and.u32 %cotenant_is, %cotenant_c, %cotenant_claim, %cotenant_is;
  @%cotenant_is shl.b32 %cotenant_size, %cotenant_size, 1;
  shr.u32 %cotenant_c, %cotenant_c, 1;
  setp.gt.u32 %cotenant_is, %cotenant_b, ${1.5 * AHEAD};
  setp.gt.or.u32 %cotenant_is, %cotenant_c, %cotenant_claim, %cotenant_is;
  @%cotenant_is shr.u32 %cotenant_size, %cotenant_size, 1;
  min.u32 %cotenant_size, %cotenant_size, ${MAX_BLOCKS_A_CLAIM};
  max.u32 %cotenant_size, %cotenant_size, 1;
`;

/** It needs a barrier only if threads of a block communicate. */
const step = (barrier: number | undefined, flat: boolean) => [
  "$cotenant_step:",
  barrier === undefined ? "" : `barrier.sync ${barrier};`,
  `
  bar.warp.sync 0xffffffff;
  ld.param.u32 %cotenant_nx, [cotenant_nctaid_x];
  add.u32 %cotenant_ctaid_x, %cotenant_ctaid_x, 1;
  setp.ne.u32 %cotenant_is, %cotenant_ctaid_x, %cotenant_nx;
  @%cotenant_is bra $cotenant_body;
  mov.u32 %cotenant_ctaid_x, 0;
  ${flat ? "" : upwards}`,
];

const upwards = `
  ld.param.u32 %cotenant_ny, [cotenant_nctaid_y];
  add.u32 %cotenant_ctaid_y, %cotenant_ctaid_y, 1;
  setp.ne.u32 %cotenant_is, %cotenant_ctaid_y, %cotenant_ny;
  @%cotenant_is bra $cotenant_body;
  mov.u32 %cotenant_ctaid_y, 0;
  add.u32 %cotenant_ctaid_z, %cotenant_ctaid_z, 1;
`;

function sharesBlocks(graph: CallGraph, module: Module): boolean {
  const { bytes, dynamic } = sharedMemory(graph, module);
  const waits = ({ opcode, modifiers }: Operation) =>
    opcode === "barrier" || opcode === "mbarrier" || (opcode === "bar" && modifiers[0] !== "warp");
  return (
    bytes !== 0 ||
    dynamic !== undefined ||
    graph.functions.some((func) => hasOperation(func, waits))
  );
}

function gridFor(reads: ReadonlySet<string>): string {
  const wanted = [...reads].filter((one) => one.startsWith("%nctaid"));
  if (wanted.length === 0) return "";
  return `{ ${grid(wanted)} ${storesFor(new Set(wanted), words)} }`;
}

/**
 * The lanes of each warp converge first. ptxas keeps values that it takes to be uniform in
 * registers of the whole warp, and thread 0's claim would change them under lanes that still work.
 * The bar.warp.sync must be here: ptxas 13.0 drops one at a loop's head that lanes reach from
 * different places.
 */
const done = (barrier: number, { each, all, once }: Done) => `
$cotenant_done:
  ${each}
  ${all === "" ? "" : `barrier.sync ${barrier}; bar.warp.sync 0xffffffff; ${all}`}
  ${once === "" ? "" : `barrier.sync ${barrier}; @!%cotenant_first bra $cotenant_ended; ${once}`}
$cotenant_ended:
  bar.warp.sync 0xffffffff;
  bra $cotenant_next;
`;

interface Done {
  /** Each thread executes it when it is done with the block. */
  readonly each: string;
  /** All threads execute it when all are done. */
  readonly all: string;
  /** Thread 0 executes it behind that. */
  readonly once: string;
}

const grid = (reads: readonly string[]) =>
  reads
    .map((special) => {
      const register = registerOf.get(special) ?? "";
      return `.reg .b32 ${register}; ld.param.u32 ${register}, [cotenant_nctaid_${special.slice(-1)}];`;
    })
    .join("\n");
