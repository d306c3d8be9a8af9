// unify-sync: all threads of a block exit together. A thread may return while others go on to a barrier, which waits for
// the remaining threads. In a loop, threads at its head would be missing at the barrier, or be counted there by mistake.
// So a thread that is done parks and keeps arriving at the barriers until all threads are done:
//
//   @%p1 ret;          ->   @%p1 bra $cotenant_park;
//   bar.sync 0;             barrier.red.or.pred %cotenant_busy, 1, %cotenant_true;
//   ret;                    bra $cotenant_park;
//                         $cotenant_park:
//                           barrier.red.or.pred %cotenant_busy, 1, !%cotenant_true;
//                           @%cotenant_busy bra $cotenant_park;
//                           ret;
//
// Tally (ASPLOS'25, unified synchronisation transformation) jumps to one common barrier and back. On sm_70 and later
// `barrier` counts threads at any instruction, and its reduction tells whether any still works. All barriers without a
// count become one, since the remaining threads can never be at two of them at once.

import { hasCount, isBarrier } from "../endings/barriers.ts";
import { type Func, type Instruction, type Module, made, operation } from "../syntax/syntax.ts";
import { appended } from "./appended.ts";
import { withVariants } from "./insert-variants.ts";
import { kernels, preemptPlan } from "./legality.ts";
import { rewrite } from "./rewrite.ts";
import { statements } from "./template.ts";

export function unifySync(module: Module): Module {
  return withVariants(
    module,
    kernels(module).flatMap((kernel) => {
      const plan = preemptPlan(kernel, module, appended.unified);
      const { verdict, barriers } = plan;
      if (!verdict.legal || !barriers.unify) return [];
      const name = kernel.name + appended.unified.suffix;
      return [
        { kernel, items: [{ ...unifyKernel(plan.kernel, barriers.free), name }], shared: [] },
      ];
    }),
  );
}

export function unifyKernel(kernel: Func, barrier: number): Func {
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

export const leaveTo = (one: Instruction, label: string): Instruction => ({
  ...one,
  ...made,
  operation: operation(one.operation.modifiers.includes("uni") ? "bra.uni" : "bra"),
  operands: [{ kind: "name", name: label }],
});
