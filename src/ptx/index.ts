export { callGraph } from "./analysis/call-graph.ts";
export { branchTargets } from "./analysis/control-flow.ts";
export { type Reason, reasonCodes } from "./analysis/reasons.ts";
export { isFatBinary, LONGEST_TEXT, ptxOf } from "./fatbin.ts";
export { PtxError } from "./syntax/errors.ts";
export { parse } from "./syntax/parse.ts";
export { print, printPlain } from "./syntax/print.ts";
export {
  blockScope,
  type Declaration,
  findFunction,
  findLabel,
  findVariable,
  functionScope,
  moduleScope,
  type Scope,
} from "./syntax/scopes.ts";
export { isSpecial } from "./syntax/special-registers.ts";
export type * from "./syntax/syntax.ts";
export { targetOf } from "./syntax/target.ts";
export { type Problem, verify } from "./syntax/verify.ts";
export { appended } from "./variants/appended.ts";
export { blockNumbersIn } from "./variants/block-number.ts";
export { extractKernel } from "./variants/extract-kernel.ts";
export {
  type KernelReport,
  kernels,
  legality,
  type Preemptible,
  type Verdict,
} from "./variants/legality.ts";
export { preempt } from "./variants/preempt.ts";
export { slice } from "./variants/slice.ts";
export { unifySync } from "./variants/unify-sync.ts";
