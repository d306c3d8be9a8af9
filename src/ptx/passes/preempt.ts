// preempt: a kernel whose blocks are persistent workers. A worker claims the original's blocks one after the
// other, in rising order, and before each claim looks whether it is to stop. So when the launch ends, what was
// claimed is finished, and a later launch goes on with the next.
//
//   {                           {
//     body                        block 0 watches the flag and mirrors it into device memory; others:
//     ret;                      $cotenant_next:
//   }                             thread 0: stop? claim = next++;
//                                 all: wait; %ctaid = claim, taken apart by the original grid; none left: ret
//                                 body
//                               $cotenant_done:
//                                 bra $cotenant_next;
//                               }
//
// Parameters and the words in device memory are described in appended.ts. The flag is a word of the host, slow
// to read, so one block watches it for all. Thread 0 asks as soon as it is done with its own part of a block,
// while others are still at work: there its two round trips hide. (Asking one block earlier would hide them
// too, but would let a worker run one block more after a stop.)
import { kernels, type PreemptPlan, preemptPlan } from "../legality.ts";
import type { Ending } from "../outstanding.ts";
import { type Func, type Module, made } from "../syntax.ts";
import { appended } from "./appended.ts";
import { blockNumbersIn, callees, registerOf, storesFor, withNames } from "./block-number.ts";
import { rewrite } from "./rewrite.ts";
import { parameter, statements } from "./template.ts";
import { isExit, leaveTo, unified } from "./unify-sync.ts";
import { type Variants, withVariants } from "./variants.ts";

/** The module with a preemptible variant behind each kernel for which it is legal. */
export function preempt(module: Module): Module {
  return withVariants(
    module,
    kernels(module).flatMap((kernel) => {
      const plan = preemptPlan(kernel, module);
      return plan.verdict.legal ? [variant(kernel, plan)] : [];
    }),
  );
}

function variant(kernel: Func, { reached, barriers, ending, verdict }: PreemptPlan): Variants {
  const { suffix, params } = appended.preempt;
  const others = callees(reached, appended.preempt);
  const whole = barriers.unify ? unified(kernel, barriers.free) : kernel;
  const body = rewrite(withNames(whole, others.names), (one) =>
    isExit(one) ? leaveTo(one, "$cotenant_done") : one,
  );
  const gridReads = [...blockNumbersIn(kernel)].filter((one) => one.startsWith("%nctaid"));
  const persistent: Func = {
    ...kernel,
    ...made,
    name: kernel.name + suffix,
    params: [...kernel.params, ...params.map(parameter)],
    body: [
      ...statements(
        registers + roles + watch + claim(barriers.free, others.reads) + grid(gridReads),
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

const registers = `
  .reg .pred %cotenant_first, %cotenant_is;
  .reg .b32 %cotenant_a, %cotenant_b, %cotenant_claim, %cotenant_go, %cotenant_total;
  .reg .b32 %cotenant_nx, %cotenant_ny;
  .reg .b32 %cotenant_ctaid_x, %cotenant_ctaid_y, %cotenant_ctaid_z;
  .reg .b64 %cotenant_control, %cotenant_flag;
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
  ld.param.u64 %cotenant_control, [cotenant_control];
  cvta.to.global.u64 %cotenant_control, %cotenant_control;
  ld.param.u64 %cotenant_flag, [cotenant_flag];
  mov.u32 %cotenant_a, %tid.x;
  mov.u32 %cotenant_b, %tid.y;
  or.b32 %cotenant_a, %cotenant_a, %cotenant_b;
  mov.u32 %cotenant_b, %tid.z;
  or.b32 %cotenant_a, %cotenant_a, %cotenant_b;
  setp.eq.u32 %cotenant_first, %cotenant_a, 0;
  mov.u32 %cotenant_a, %ctaid.x;
  setp.ne.u32 %cotenant_is, %cotenant_a, 0;
  @%cotenant_is bra $cotenant_next;
  @!%cotenant_first ret;
`;

const { words } = appended.preempt;

/** Nanoseconds between two looks at the flag: a read of host memory takes about as long. */
const NAP = 500;

/** The sentinel ends when all blocks are claimed, or the flag was set. */
const watch = `
  setp.eq.u64 %cotenant_is, %cotenant_flag, 0;
  @%cotenant_is ret;
  cvta.to.global.u64 %cotenant_flag, %cotenant_flag;
  ${total}
$cotenant_watch:
  ld.relaxed.gpu.global.u32 %cotenant_a, [%cotenant_control];
  setp.ge.u32 %cotenant_is, %cotenant_a, %cotenant_total;
  @%cotenant_is ret;
  ld.relaxed.sys.global.u32 %cotenant_a, [%cotenant_flag];
  setp.ne.u32 %cotenant_is, %cotenant_a, 0;
  @%cotenant_is bra $cotenant_stop;
  nanosleep.u32 ${NAP};
  bra $cotenant_watch;
$cotenant_stop:
  ld.param.u32 %cotenant_b, [cotenant_epoch];
  st.relaxed.gpu.global.u32 [%cotenant_control+4], %cotenant_b;
  ret;
`;

/**
 * The first wait ends the previous block: its shared memory may be used again, and the words of the claim have
 * been read. The second hands over the new ones. Then each warp is brought together again, as it was when the
 * original's block began.
 */
const claim = (barrier: number, calleeReads: ReadonlySet<string>) => `
$cotenant_next:
  @!%cotenant_first bra $cotenant_wait;
  mov.u32 %cotenant_go, 0;
  mov.u32 %cotenant_claim, 0;
  setp.eq.u64 %cotenant_is, %cotenant_flag, 0;
  @%cotenant_is bra $cotenant_take;
  ld.relaxed.gpu.global.u32 %cotenant_a, [%cotenant_control+4];
  ld.param.u32 %cotenant_b, [cotenant_epoch];
  setp.eq.u32 %cotenant_is, %cotenant_a, %cotenant_b;
  @%cotenant_is bra $cotenant_wait;
$cotenant_take:
  atom.relaxed.gpu.global.add.u32 %cotenant_claim, [%cotenant_control], 1;
  ${total}
  setp.lt.u32 %cotenant_is, %cotenant_claim, %cotenant_total;
  selp.u32 %cotenant_go, 1, 0, %cotenant_is;
$cotenant_wait:
  barrier.sync ${barrier};
  @!%cotenant_first bra $cotenant_read;
  ld.param.u32 %cotenant_nx, [cotenant_nctaid_x];
  ld.param.u32 %cotenant_ny, [cotenant_nctaid_y];
  rem.u32 %cotenant_ctaid_x, %cotenant_claim, %cotenant_nx;
  div.u32 %cotenant_a, %cotenant_claim, %cotenant_nx;
  rem.u32 %cotenant_ctaid_y, %cotenant_a, %cotenant_ny;
  div.u32 %cotenant_ctaid_z, %cotenant_a, %cotenant_ny;
  st.shared.v4.u32 [${words}], {%cotenant_ctaid_x, %cotenant_ctaid_y, %cotenant_ctaid_z, %cotenant_go};
  ${gridFor(calleeReads)}
$cotenant_read:
  barrier.sync ${barrier};
  bar.warp.sync 0xffffffff;
  ld.shared.v4.u32 {%cotenant_ctaid_x, %cotenant_ctaid_y, %cotenant_ctaid_z, %cotenant_go}, [${words}];
  setp.eq.u32 %cotenant_is, %cotenant_go, 0;
  @%cotenant_is ret;
`;

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
