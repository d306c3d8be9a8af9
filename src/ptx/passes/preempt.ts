// preempt: a kernel whose blocks are persistent workers. A worker claims the original's blocks one after the
// other, in rising order, until there are none left or it is stopped. When the launch ends, what was claimed is
// finished, and a later launch goes on with the next.
//
//   {                           {
//     body                        block 0 watches the flag; when it is set, next = max(next, 2^31); others:
//     ret;                      $cotenant_next:
//   }                             if (--left > 0) ++%ctaid, else
//                                 thread 0: claim = next, next += size;
//                                 all: wait; %ctaid = claim, taken apart by the original grid; left = size, or ret
//                                 body
//                               $cotenant_done:
//                                 bra $cotenant_next;
//                               }
//
// Parameters and the words in device memory are described in appended.ts. The flag is a word of the host, slow
// to read, so one block watches it for all, and stops them by leaving nothing to claim: a claim and the question
// whether to stop are one atomic addition. Launches count in two words by turns; the watcher hands what was
// claimed over to the next launch's. Thread 0 claims as soon as it is done with its own part of a block, while
// others are still at work: there the round trip hides. (Claiming one block earlier would hide all of it, but would
// let a worker run one block more after a stop.)
//
// Blocks of a microsecond are over before a claim is, so where they are that short a claim takes a few at once:
// the size doubles when all of a claim took less than QUICK cycles, and halves when it took more than twice that.
// Where a claim takes one block, a stop costs the rest of a block; where it takes more, they are short ones, unless
// long blocks follow on short ones.
import { kernels, type PreemptPlan, preemptPlan } from "../legality.ts";
import type { Ending } from "../outstanding.ts";
import { hasOperation, type Reach } from "../reach.ts";
import { sharedRoom } from "../room.ts";
import { type Func, type Module, made, type Operation } from "../syntax.ts";
import { appended } from "./appended.ts";
import { blockNumbersIn, callees, registerOf, storesFor, withOurs } from "./block-number.ts";
import { renamed, rewrite } from "./rewrite.ts";
import { parameter, statements } from "./template.ts";
import { isExit, leaveTo, unified } from "./unify-sync.ts";
import { type Variants, withVariants } from "./variants.ts";

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
  const { reached, barriers, ending, verdict } = plan;
  const { suffix, params } = appended.preempt;
  const others = callees(reached, appended.preempt);
  const whole = barriers.unify ? unified(kernel, barriers.free) : kernel;
  const names = withOurs(others.names);
  const body = rewrite(whole.body ?? [], (one) =>
    isExit(one) ? leaveTo(one, "$cotenant_done") : renamed(one, names),
  );
  const gridReads = [...blockNumbersIn(kernel)].filter((one) => one.startsWith("%nctaid"));
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
        next,
        ...claim(barriers.free, others.reads),
        ...step(sharesBlocks(reached, module) ? barriers.free : undefined),
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
  .reg .b32 %cotenant_a, %cotenant_b, %cotenant_claim, %cotenant_size, %cotenant_left, %cotenant_total;
  .reg .b32 %cotenant_nx, %cotenant_ny;
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

/** Thread 0 acts for its block; block 0 is the sentinel. */
const roles = `
  ld.param.u64 %cotenant_counter, [cotenant_control];
  cvta.to.global.u64 %cotenant_counter, %cotenant_counter;
  ld.param.u32 %cotenant_a, [cotenant_epoch];
  and.b32 %cotenant_a, %cotenant_a, 1;
  mul.wide.u32 %cotenant_other, %cotenant_a, 4;
  add.u64 %cotenant_counter, %cotenant_counter, %cotenant_other;
  mov.u32 %cotenant_a, %tid.x;
  mov.u32 %cotenant_b, %tid.y;
  or.b32 %cotenant_a, %cotenant_a, %cotenant_b;
  mov.u32 %cotenant_b, %tid.z;
  or.b32 %cotenant_a, %cotenant_a, %cotenant_b;
  setp.eq.u32 %cotenant_first, %cotenant_a, 0;
  mov.u32 %cotenant_left, 1;
  mov.u32 %cotenant_size, 1;
  mov.u32 %cotenant_ctaid_x, 0;
  mov.u32 %cotenant_ctaid_y, 0;
  mov.u32 %cotenant_ctaid_z, 0;
  mov.u32 %cotenant_a, %ctaid.x;
  setp.ne.u32 %cotenant_is, %cotenant_a, 0;
  @%cotenant_is bra $cotenant_begin;
  @!%cotenant_first ret;
`;

/** Nanoseconds between two looks at the flag: a read of host memory takes about as long. */
const NAP = 500;

/** Cycles: a claim of several blocks takes about 2 to 3 us on a GPU of 1.7 GHz. */
const QUICK = 2500;
/** Blocks of one claim, where long ones may follow on short ones. */
const MOST = 4;

/** The sentinel ends when all blocks are claimed, or the flag was set. What was claimed begins the next launch. */
const watch = `
  .reg .b64 %cotenant_flag;
  ld.param.u64 %cotenant_flag, [cotenant_flag];
  setp.eq.u64 %cotenant_is, %cotenant_flag, 0;
  @%cotenant_is ret;
  cvta.to.global.u64 %cotenant_flag, %cotenant_flag;
  xor.b64 %cotenant_other, %cotenant_counter, 4;
  ${total}
$cotenant_watch:
  ld.relaxed.gpu.global.u32 %cotenant_a, [%cotenant_counter];
  setp.ge.u32 %cotenant_is, %cotenant_a, %cotenant_total;
  @%cotenant_is bra $cotenant_over;
  ld.relaxed.sys.global.u32 %cotenant_a, [%cotenant_flag];
  setp.ne.u32 %cotenant_is, %cotenant_a, 0;
  @%cotenant_is bra $cotenant_stop;
  nanosleep.u32 ${NAP};
  bra $cotenant_watch;
$cotenant_stop:
  atom.relaxed.gpu.global.max.u32 %cotenant_a, [%cotenant_counter], ${2 ** 31};
$cotenant_over:
  st.relaxed.gpu.global.u32 [%cotenant_other], %cotenant_a;
  ret;
`;

/**
 * A worker begins as if it had just finished a block, neither a quick one nor a slow one. Thread 0 keeps in the words
 * when its claim began.
 */
const next = `
$cotenant_begin:
  @!%cotenant_first bra $cotenant_next;
  mov.u32 %cotenant_a, %clock;
  sub.u32 %cotenant_a, %cotenant_a, ${1.5 * QUICK};
  st.shared.u32 [${words}+28], %cotenant_a;
$cotenant_next:
  sub.u32 %cotenant_left, %cotenant_left, 1;
  setp.ne.u32 %cotenant_is, %cotenant_left, 0;
  @%cotenant_is bra $cotenant_step;
`;

/**
 * The first wait ends the previous block: its shared memory may be used again, and the words of the claim have
 * been read. The second hands over the new ones. Then each warp is brought together again, as it was when the
 * original's block began. Towards the end of the grid claims get small again, so that workers end together.
 */
const claim = (barrier: number, calleeReads: ReadonlySet<string>) => [
  "@!%cotenant_first bra $cotenant_wait;",
  total,
  calleeReads.size > 0 ? "" : sizeOfClaim,
  claimed,
  `barrier.sync ${barrier};`,
  handedOver,
  gridFor(calleeReads),
  `$cotenant_read: barrier.sync ${barrier};`,
  taken,
];

const claimed = `
  atom.relaxed.gpu.global.add.u32 %cotenant_claim, [%cotenant_counter], %cotenant_size;
  setp.lt.u32 %cotenant_is, %cotenant_claim, %cotenant_total;
  sub.u32 %cotenant_left, %cotenant_total, %cotenant_claim;
  min.u32 %cotenant_left, %cotenant_left, %cotenant_size;
  selp.u32 %cotenant_left, %cotenant_left, 0, %cotenant_is;
$cotenant_wait:
`;

const handedOver = `
  @!%cotenant_first bra $cotenant_read;
  ld.param.u32 %cotenant_nx, [cotenant_nctaid_x];
  ld.param.u32 %cotenant_ny, [cotenant_nctaid_y];
  rem.u32 %cotenant_ctaid_x, %cotenant_claim, %cotenant_nx;
  div.u32 %cotenant_a, %cotenant_claim, %cotenant_nx;
  rem.u32 %cotenant_ctaid_y, %cotenant_a, %cotenant_ny;
  div.u32 %cotenant_ctaid_z, %cotenant_a, %cotenant_ny;
  st.shared.v4.u32 [${words}], {%cotenant_ctaid_x, %cotenant_ctaid_y, %cotenant_ctaid_z, %cotenant_left};
`;

const taken = `
  bar.warp.sync 0xffffffff;
  ld.shared.v4.u32 {%cotenant_ctaid_x, %cotenant_ctaid_y, %cotenant_ctaid_z, %cotenant_left}, [${words}];
  setp.ne.u32 %cotenant_is, %cotenant_left, 0;
  @%cotenant_is bra $cotenant_body;
  ret;
`;

/** From how long the last claim took; at most half of what a worker's share of the blocks left is. */
const sizeOfClaim = `
  mov.u32 %cotenant_a, %clock;
  ld.shared.u32 %cotenant_b, [${words}+28];
  st.shared.u32 [${words}+28], %cotenant_a;
  sub.u32 %cotenant_b, %cotenant_a, %cotenant_b;
  setp.lt.u32 %cotenant_is, %cotenant_b, ${QUICK};
  @%cotenant_is shl.b32 %cotenant_size, %cotenant_size, 1;
  setp.gt.u32 %cotenant_is, %cotenant_b, ${2 * QUICK};
  @%cotenant_is shr.u32 %cotenant_size, %cotenant_size, 1;
  min.u32 %cotenant_size, %cotenant_size, ${MOST};
  max.u32 %cotenant_size, %cotenant_size, 1;
  setp.eq.u32 %cotenant_is, %cotenant_size, 1;
  @%cotenant_is bra $cotenant_sized;
  mad.lo.u32 %cotenant_a, %cotenant_ctaid_z, %cotenant_ny, %cotenant_ctaid_y;
  mad.lo.u32 %cotenant_a, %cotenant_a, %cotenant_nx, %cotenant_ctaid_x;
  sub.u32 %cotenant_a, %cotenant_total, %cotenant_a;
  mov.u32 %cotenant_b, %nctaid.x;
  shl.b32 %cotenant_b, %cotenant_b, 1;
  div.u32 %cotenant_a, %cotenant_a, %cotenant_b;
  min.u32 %cotenant_size, %cotenant_size, %cotenant_a;
  max.u32 %cotenant_size, %cotenant_size, 1;
$cotenant_sized:
`;

/** The next block of a claim. Where threads of a block never look at each other, neither must blocks wait. */
const step = (barrier: number | undefined) => [
  "$cotenant_step:",
  barrier === undefined ? "" : `barrier.sync ${barrier};`,
  stepped,
];

const stepped = `
  bar.warp.sync 0xffffffff;
  ld.param.u32 %cotenant_nx, [cotenant_nctaid_x];
  ld.param.u32 %cotenant_ny, [cotenant_nctaid_y];
  add.u32 %cotenant_ctaid_x, %cotenant_ctaid_x, 1;
  setp.ne.u32 %cotenant_is, %cotenant_ctaid_x, %cotenant_nx;
  @%cotenant_is bra $cotenant_body;
  mov.u32 %cotenant_ctaid_x, 0;
  add.u32 %cotenant_ctaid_y, %cotenant_ctaid_y, 1;
  setp.ne.u32 %cotenant_is, %cotenant_ctaid_y, %cotenant_ny;
  @%cotenant_is bra $cotenant_body;
  mov.u32 %cotenant_ctaid_y, 0;
  add.u32 %cotenant_ctaid_z, %cotenant_ctaid_z, 1;
$cotenant_body:
`;

/** Do threads of a block share memory, or wait for each other? */
function sharesBlocks(reached: Reach, module: Module): boolean {
  const { bytes, dynamic } = sharedRoom(reached, module);
  const waits = ({ opcode, modifiers }: Operation) =>
    opcode === "barrier" || opcode === "mbarrier" || (opcode === "bar" && modifiers[0] !== "warp");
  return (
    bytes !== 0 ||
    dynamic !== undefined ||
    reached.functions.some((func) => hasOperation(func, waits))
  );
}

/** The grid's size for device functions; the block's number is there for all. */
function gridFor(reads: ReadonlySet<string>): string {
  const wanted = [...reads].filter((one) => one.startsWith("%nctaid"));
  if (wanted.length === 0) return "";
  return `{ ${grid(wanted)} ${storesFor(new Set(wanted), words)} }`;
}

/** What the block leaves under way ends here; then the next one. */
const done = (barrier: number, { each, once }: Ending) => `
$cotenant_done:
  ${each}
  ${once === "" ? "" : `barrier.sync ${barrier}; @!%cotenant_first bra $cotenant_next; ${once}`}
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
