// preempt: a kernel whose blocks are persistent workers. A worker claims the original's blocks one after the
// other, in rising order, until there are none left or it is stopped. When the launch ends, what was claimed is
// finished, and a later launch goes on with the next.
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
// Parameters and the words in device memory are described in appended.ts. The flag is a word of the host, slow
// to read, so one block watches it for all, and stops them by leaving nothing to claim: a claim and the question
// whether to stop are one atomic addition. Launches count in two words by turns; the watcher hands what was
// claimed over to the next launch's. Thread 0 claims as soon as it is done with its own part of a block, while
// others are still at work: there the round trip hides. (Claiming one block earlier would hide all of it, but would
// let a worker run one block more after a stop.)
//
// All workers add to one word, and a GPU makes one such addition in about 0.9 ns, where it starts a block in 0.6. So
// where blocks are short a claim takes a few: see sizeOfClaim. Where it takes one, a stop costs the rest of a block;
// where it takes more, they are short ones, unless the first long blocks follow on many short ones.
//
// Who waits for a lower block waits for one that somebody has: claims are in rising order and a worker runs its own in
// that order, so whoever has the lowest block that is not done is at it. Blocks that others wait for are claimed one by
// one.
//
// Little is kept in registers while a block runs: how many blocks are left, and those of the numbers that are read.

import { type CallGraph, hasOperation } from "../analysis/call-graph.ts";
import { sharedMemory } from "../analysis/memory-sizes.ts";
import type { Ending } from "../analysis/outstanding.ts";
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
import { type Variants, withVariants } from "./insert-variants.ts";
import { kernels, type PreemptPlan, preemptPlan } from "./legality.ts";
import { rewrite } from "./rewrite.ts";
import { parameter, statements } from "./template.ts";
import { isExit, leaveTo, unified } from "./unify-sync.ts";

/** The module with a preemptible variant behind each kernel for which it is legal. */
export function preempt(module: Module): Module {
  return withVariants(
    module,
    kernels(module).flatMap((kernel) => {
      const plan = preemptPlan(kernel, module);
      return plan.verdict.legal ? [variant(kernel, plan, module)] : [];
    }),
  );
}

function variant(kernel: Func, plan: PreemptPlan, module: Module): Variants {
  const { graph, barriers, ending, verdict } = plan;
  const { suffix, params } = appended.preempt;
  const others = callees(graph, appended.preempt);
  const whole = barriers.unify ? unified(kernel, barriers.free) : kernel;
  const names = withOurs(others.names);
  const body = rewrite(whole.body ?? [], (one) =>
    isExit(one) ? leaveTo(one, "$cotenant_done") : withOurNumbers(one, names),
  );
  const reads = blockNumbersIn(kernel);
  const gridReads = [...reads].filter((one) => one.startsWith("%nctaid"));
  const flat = ![...reads, ...others.reads].some((one) => /^%ctaid\.[yz]$/.test(one));
  // Device functions find the number of one block in the words, and a block that others wait for must not stand in
  // line.
  const batches = others.reads.size === 0 && !plan.lookBack;
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
        begin(batches),
        ...claim(barriers.free, { batches, flat, calleeReads: others.reads }),
        ...(batches ? step(sharesBlocks(graph, module) ? barriers.free : undefined, flat) : []),
        "$cotenant_body:",
        grid(gridReads),
      ),
      ...body,
      ...statements(done(barriers.free, ending)),
    ],
  };
  return {
    kernel,
    items: [...others.items, persistent],
    shared: [{ name: words, bytes: verdict.sharedBytes }],
  };
}

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

/** Made again for each claim: it would be two registers during every block. */
const counter = `
  ld.param.u64 %cotenant_counter, [cotenant_control];
  cvta.to.global.u64 %cotenant_counter, %cotenant_counter;
  ld.param.u32 %cotenant_a, [cotenant_epoch];
  and.b32 %cotenant_a, %cotenant_a, 1;
  mul.wide.u32 %cotenant_other, %cotenant_a, 4;
  add.u64 %cotenant_counter, %cotenant_counter, %cotenant_other;
`;

/** Thread 0 acts for its block; block 0 is the sentinel. */
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

/** Nanoseconds between two looks at the flag: a read of host memory takes about as long. */
const NAP = 500;

/** Cycles that a stop may wait longer because of the size of claims: about 8 us on a GPU of 1.9 GHz. */
const AHEAD = 15_000;
/** Blocks of one claim at most, where long ones may follow on short ones. */
const MOST = 4;
/** Cycles, more than any that matter, for products of 32 bits. */
const LONGEST = 2 ** 20;

/** The sentinel ends when all blocks are claimed, or the flag was set. What was claimed begins the next launch. */
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

/** Two places for a claim: the block's number and how many blocks there are from it on. Then what thread 0 keeps. */
const CLAIM = 16;
/** When the last claim was made, how long a block took at most, of how many blocks the claim was, where it ended. */
const KEPT = 2 * CLAIM;
/** Blocks left of a claim are in the low bits of a register, which of the two places is the claim's above them. */
const TURN = 256;

/** A worker begins as if nothing were left, so with one block, and knows of none how long it takes. */
const begin = (batches: boolean) => `
$cotenant_begin:
  mov.u32 %cotenant_left, 1;
  ${batches ? kept : ""}
$cotenant_next:
  sub.u32 %cotenant_left, %cotenant_left, 1;
  ${batches ? more : ""}
`;

/** Without a branch: lanes that it parts would come to the loop's head apart (see done). */
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
  /** Several blocks at once, where they are short. */
  readonly batches: boolean;
  /** Is only the x of the block's number read? */
  readonly flat: boolean;
  /** What device functions read. */
  readonly calleeReads: ReadonlySet<string>;
}

/**
 * One wait ends the previous block and hands over the claim. It is handed over in two places by turns: who has come to
 * the wait has read the one before. Device functions read the first place during a block, so where they do another wait
 * comes before. Behind it each warp is brought together again, as it was when the original's block began.
 */
const claim = (barrier: number, { batches, flat, calleeReads }: Claims) => [
  calleeReads.size > 0 ? `barrier.sync ${barrier}; mov.u32 %cotenant_at, ${words};` : turn,
  "@!%cotenant_first bra $cotenant_wait;",
  total,
  batches ? sizeOfClaim : "mov.u32 %cotenant_size, 1;",
  counter,
  claimed,
  batches ? `st.shared.v2.u32 [${words}+${KEPT + 8}], {%cotenant_size, %cotenant_a};` : "",
  flat ? alongX : apart,
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

/** Most grids are one row: then nothing is to be divided. */
const alongX = coordinates("");

const apart = coordinates(`  div.u32 %cotenant_ctaid_y, %cotenant_claim, %cotenant_nx;
  setp.lt.u32 %cotenant_is, %cotenant_ctaid_y, %cotenant_ny;
  @%cotenant_is bra $cotenant_apart;
  div.u32 %cotenant_ctaid_z, %cotenant_ctaid_y, %cotenant_ny;
  rem.u32 %cotenant_ctaid_y, %cotenant_ctaid_y, %cotenant_ny;
`);

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
 * A stop waits for all of a claim: (size - 1) blocks longer. How long they may be is told by the longest that this
 * worker has had lately: where blocks differ, a short one says nothing of the next. Twice as many if that stays below
 * AHEAD then, half as many where it is far above, or where more than half of a worker's share of the blocks left would
 * be claimed: so workers end together.
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
  min.u32 %cotenant_size, %cotenant_size, ${MOST};
  max.u32 %cotenant_size, %cotenant_size, 1;
`;

/** The next block of a claim. Where threads of a block never look at each other, neither must blocks wait. */
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

/** Do threads of a block share memory, or wait for each other? */
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

/** The grid's size for device functions; the block's number is there for all. */
function gridFor(reads: ReadonlySet<string>): string {
  const wanted = [...reads].filter((one) => one.startsWith("%nctaid"));
  if (wanted.length === 0) return "";
  return `{ ${grid(wanted)} ${storesFor(new Set(wanted), words)} }`;
}

/**
 * What the block leaves under way ends here; then the next one. Each warp is brought together first: ptxas keeps in
 * registers of the whole warp what it takes to be the same in all lanes, and thread 0's claim would change them under
 * lanes that are still at work. It must be here: where lanes come apart to the head of a loop, ptxas (13.0) leaves out
 * a bar.warp.sync that stands there.
 */
const done = (barrier: number, { each, once }: Ending) => `
$cotenant_done:
  ${each}
  ${once === "" ? "" : `barrier.sync ${barrier}; @!%cotenant_first bra $cotenant_ended; ${once}`}
$cotenant_ended:
  bar.warp.sync 0xffffffff;
  bra $cotenant_next;
`;

/** Our registers for the grid's size. */
const grid = (reads: readonly string[]) =>
  reads
    .map((special) => {
      const register = registerOf.get(special) ?? "";
      return `.reg .b32 ${register}; ld.param.u32 ${register}, [cotenant_nctaid_${special.slice(-1)}];`;
    })
    .join("\n");
