import { isShared, moduleScope } from "../syntax/scopes.ts";
import type { Module, Variable } from "../syntax/syntax.ts";
import { type CallGraph, isNamedIn } from "./call-graph.ts";
import { controlFlow } from "./control-flow.ts";

function typeBytes(type: string): number {
  if (type === "pred") return 1;
  const bits = /(\d+)(x\d)?$/.exec(type);
  const lanes = Number(bits?.[2]?.slice(1) ?? 1);
  return bits === null ? 8 : (Number(bits[1]) / 8) * lanes;
}

function variableBytes({ type, vector, names }: Variable): number {
  const element = typeBytes(type) * vector;
  let bytes = 0;
  for (const { dims } of names)
    bytes += dims.reduce((all, dim) => all * (dim === "" ? 0 : Number(dim)), element);
  return bytes;
}

const up = (bytes: number, align: number) => Math.ceil(bytes / align) * align;

const alignment = (variable: Variable) =>
  variable.align ?? typeBytes(variable.type) * variable.vector;

export function parameterBytes(params: readonly Variable[]): number {
  let at = 0;
  for (const one of params) at = up(at, alignment(one)) + variableBytes(one);
  return at;
}

export interface SharedMemory {
  readonly bytes: number;
  readonly dynamic: Variable | undefined;
}

/** `bytes` is NaN if a size is an expression. */
export function sharedMemory(graph: CallGraph, module: Module): SharedMemory {
  let bytes = 0;
  let dynamic: Variable | undefined;
  const count = (one: Variable) => {
    if (one.linkage === ".extern" && one.names.some(({ dims }) => dims.includes(""))) dynamic = one;
    else bytes = up(bytes, alignment(one)) + variableBytes(one);
  };
  for (const one of moduleScope(module).shared)
    if (one.names.some(({ name }) => isNamedIn(graph.functions, name))) count(one);
  for (const func of graph.functions)
    for (const one of controlFlow(func).others) if (isShared(one)) count(one);
  return { bytes, dynamic };
}
