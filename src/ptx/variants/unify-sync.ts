// unify-sync: all threads of a block leave it together. In the original a thread may return while others go on
// to a barrier, which then waits only for those that are left. Around such a body no loop can be put: threads
// that are back at its head would be missing at the barrier, or be counted there. So a thread that is done parks
// and keeps coming to the barriers, until all are done:
//
//   @%p1 ret;          ->   @%p1 bra $cotenant_park;
//   bar.sync 0;             barrier.red.or.pred %cotenant_busy, 1, %cotenant_true;
//   ret;                    bra $cotenant_park;
//                         $cotenant_park:
//                           barrier.red.or.pred %cotenant_busy, 1, !%cotenant_true;
//                           @%cotenant_busy bra $cotenant_park;
//                           ret;
//
// Tally (ASPLOS'25, unified synchronisation transformation) jumps to one barrier and from there back to where
// the thread was. On sm_70 and later the hardware does that: `barrier` counts threads, not warps, wherever they
// come from, and its reduction says whether any of them is still at work. All barriers without a count become
// one: threads that have not left can never be at two of them at once.

import { hasCount, isBarrier } from "../analysis/barriers.ts";
import { type Func, type Instruction, type Module, made, operation } from "../syntax/syntax.ts";
import { appended } from "./appended.ts";
import { withVariants } from "./insert-variants.ts";
import { kernels, preemptPlan } from "./legality.ts";
import { rewrite } from "./rewrite.ts";
import { statements } from "./template.ts";

/** The module with a unified variant behind each kernel that needs one to become preemptible. */
export function unifySync(module: Module): Module {
  return withVariants(
    module,
    kernels(module).flatMap((kernel) => {
      const { verdict, barriers } = preemptPlan(kernel, module, appended.unified);
      if (!verdict.legal || !barriers.unify) return [];
      const name = kernel.name + appended.unified.suffix;
      return [{ kernel, items: [{ ...unified(kernel, barriers.free), name }], shared: [] }];
    }),
  );
}

/** The kernel with one exit, at its end, and barriers that parked threads take part in. */
export function unified(kernel: Func, barrier: number): Func {
  const active = `barrier.red.or.pred %cotenant_busy, ${barrier}, %cotenant_true;`;
  const [meet] = statements(active);
  const body = rewrite(kernel.body ?? [], (one) => {
    if (isExit(one)) return leaveTo(one, "$cotenant_park");
    if (!isBarrier(one.operation) || hasCount(one) || meet?.kind !== "instruction") return one;
    return { ...meet, predicate: one.predicate };
  });
  const head = statements(`
    .reg .pred %cotenant_busy, %cotenant_true;
    setp.eq.u32 %cotenant_true, 0, 0;`);
  const park = statements(`
    $cotenant_park:
      barrier.red.or.pred %cotenant_busy, ${barrier}, !%cotenant_true;
      @%cotenant_busy bra $cotenant_park;
      ret;`);
  return { ...kernel, ...made, body: [...head, ...body, ...park] };
}

export const isExit = ({ operation: { opcode } }: Instruction) =>
  opcode === "ret" || opcode === "exit";

/** A branch in the place of an exit. */
export const leaveTo = (one: Instruction, label: string): Instruction => ({
  ...one,
  ...made,
  operation: operation(one.operation.modifiers.includes("uni") ? "bra.uni" : "bra"),
  operands: [{ kind: "name", name: label }],
});
