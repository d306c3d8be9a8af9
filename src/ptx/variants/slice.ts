// slice: a kernel that is launched over a box of its grid. The box's first block is added to the block's number:
//
//   mov.u32 %r1, %ctaid.x;     ->   ld.param.u32 %cotenant_ctaid_x, [cotenant_first_x];
//   mov.u32 %r2, %nctaid.x;         mov.u32 %cotenant_at, %ctaid.x;
//                                   add.u32 %cotenant_ctaid_x, %cotenant_ctaid_x, %cotenant_at;
//                                   ld.param.u32 %cotenant_nctaid_x, [cotenant_nctaid_x];
//                                   mov.u32 %r1, %cotenant_ctaid_x;
//                                   mov.u32 %r2, %cotenant_nctaid_x;
//
// Boxes must be launched in rising order on one stream, if blocks wait for lower ones.

import type { CallGraph } from "../analysis/call-graph.ts";
import { type Func, type Item, type Module, made } from "../syntax/syntax.ts";
import { appended } from "./appended.ts";
import { blockNumbersIn, callees, registerOf, storesFor, withNames } from "./block-number.ts";
import { type Variants, withVariants } from "./insert-variants.ts";
import { kernels, slicePlan } from "./legality.ts";
import { parameter, statements } from "./template.ts";

export function slice(module: Module): Module {
  return withVariants(
    module,
    kernels(module).flatMap((kernel) => {
      const { verdict, graph } = slicePlan(kernel, module);
      return verdict.legal ? [variant(kernel, graph, verdict.sharedBytes)] : [];
    }),
  );
}

function variant(kernel: Func, graph: CallGraph, bytes: number): Variants {
  const { suffix, params, words } = appended.slice;
  const others = callees(graph, appended.slice);
  const reads = new Set([...blockNumbersIn(kernel), ...others.reads]);
  const sliced: Func = {
    ...kernel,
    ...made,
    name: kernel.name + suffix,
    params: [...kernel.params, ...params.map(parameter)],
    body: [
      ...statements(prologue(reads), storesFor(others.reads, words)),
      ...withNames(kernel, others.names),
    ],
  };
  const items: Item[] = [...others.items, sliced];
  const shared = bytes > 0 ? [{ name: words, bytes }] : [];
  return { kernel, items, shared };
}

/** Every thread stores the same words before it reads them, so no barrier is needed. */
function prologue(reads: ReadonlySet<string>): string {
  const lines = [...reads].map((special) => {
    const register = registerOf.get(special) ?? "";
    const axis = special.slice(-1);
    const declared = `.reg .b32 ${register};`;
    if (special.startsWith("%nctaid"))
      return `${declared} ld.param.u32 ${register}, [cotenant_nctaid_${axis}];`;
    return `${declared}
      ld.param.u32 ${register}, [cotenant_first_${axis}];
      mov.u32 %cotenant_at, ${special};
      add.u32 ${register}, ${register}, %cotenant_at;`;
  });
  return lines.length === 0 ? "" : `.reg .b32 %cotenant_at;\n${lines.join("\n")}\n`;
}
