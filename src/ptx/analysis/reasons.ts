import { type Position, positionOf } from "../syntax/errors.ts";
import type { Module, Spanned } from "../syntax/syntax.ts";

export const reasonCodes = {
  "absolute-address": "shared memory is addressed by number, and the variant moves it",
  alloca: "stack memory taken for each block would pile up",
  "async-outstanding": "asynchronous copies may be under way when a block ends",
  "barrier-arrive": "an arrival may be left over in a barrier when a block ends",
  "barrier-ids": "no barrier id is known to be free",
  "callee-barrier": "a device function waits at a barrier",
  "callee-exits": "a device function ends the thread",
  clock: "the time is read, and one thread now lives for many blocks",
  cluster: "blocks work in clusters",
  cooperative: "the launch is cooperative: all blocks at once",
  "dependent-launch":
    "a device function lets dependent grids start, which only the whole grid may do",
  "dynamic-parallelism": "the kernel launches kernels",
  "grid-id": "the number of the grid is read",
  "grid-wait": "a block waits for others that may not have started",
  "indirect-call": "which function is called is not known",
  "mbarrier-live": "an mbarrier is initialised again without being invalidated",
  multicast: "copies go to several blocks at once",
  multimem: "memory of several GPUs is addressed at once",
  "name-taken": "the module has what the variant would be called",
  "not-understood": "something is not understood",
  "old-target": "the target or the PTX version has not what the variant needs",
  "parameter-space": "no room is left for more parameters",
  "parked-barrier": "a barrier with a reduction or a shared id follows where threads part",
  "parked-lanes": "lanes that have left are named in an operation of the whole warp",
  recursion:
    "a device function comes back to itself: lanes may return apart, and ptxas leaves out what would bring them together",
  setmaxnreg: "a function moves registers between warps",
  "shared-memory": "no static shared memory is left",
  "static-variable": "a variable in the body keeps its value between launches",
  "tensor-memory": "tensor memory is allocated",
  "unknown-callee": "a function without a body is called",
  "warp-id": "the number of the warp's slot is read",
} as const satisfies Record<string, string>;

type ReasonCode = keyof typeof reasonCodes;

export interface Reason extends Position {
  readonly code: ReasonCode;
  readonly text: string;
}

export type Refuse = (code: ReasonCode, node: Spanned, text: string) => void;

export function collect(module: Module): { readonly refuse: Refuse; readonly reasons: Reason[] } {
  const reasons: Reason[] = [];
  const said = new Set<string>();
  const refuse: Refuse = (code, node, text) => {
    if (said.has(`${code} ${text}`)) return;
    said.add(`${code} ${text}`);
    reasons.push({ ...positionOf(module.source, node.at), code, text });
  };
  return { refuse, reasons };
}
