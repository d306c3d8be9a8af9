import {
  type CallGraph,
  calleeOf,
  eachStatement,
  hasOperation,
  instructionsOf,
  recursiveCall,
} from "../analysis/call-graph.ts";
import { controlFlow } from "../analysis/control-flow.ts";
import type { Refuse } from "../analysis/reasons.ts";
import type { Specials } from "../syntax/names.ts";
import type { Func, Instruction, Operand, Operation, Statement } from "../syntax/syntax.ts";

/** PTX ISA 9.0 has these. Any other operation could do anything, so it is refused. */
const operations: ReadonlySet<string> = new Set(
  `abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call
  clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma fns getctarank griddepcontrol isspacep
  istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min mma mov movmatrix mul mul24
  nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp set
  setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix sub subc suld suq sured
  sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4
  vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma
  wmma xor`
    .trim()
    .split(/\s+/),
);

const harmless: ReadonlySet<string> = new Set([
  ".loc",
  ".file",
  ".pragma",
  ".branchtargets",
  ".callprototype",
  ".calltargets",
  "@@",
]);

const runtime: ReadonlySet<string> = new Set([
  "vprintf",
  "malloc",
  "free",
  "__assertfail",
  "__assert_fail",
]);

export function forbidden(kernel: Func, graph: CallGraph, refuse: Refuse): void {
  for (const one of kernel.directives) clusterDirective(kernel, one.name, one.text, refuse);
  for (const func of graph.functions) {
    const { specials } = controlFlow(func).names;
    // Reasons are reported in the order of the file.
    if (isUnusual(func)) eachStatement(func.body ?? [], (one) => statement(one, specials, refuse));
    else for (const one of controlFlow(func).others) statement(one, specials, refuse);
  }
  dependentsOfCallees(graph, refuse);
  for (const call of graph.indirect)
    refuse("indirect-call", call, "a function is called through a register");
  for (const { call, callee } of graph.outside) {
    if (runtime.has(callee)) continue;
    if (/^(__)?cuda/.test(callee))
      refuse("dynamic-parallelism", call, `${callee} is called, so kernels start kernels here`);
    else refuse("unknown-callee", call, `${callee} is called and has no body here`);
  }
}

/**
 * A part of a grid must not say so for the whole: dependents start when the grid has ended, which
 * PTX allows (PTX ISA 9.0, 9.7.13.13). `griddepcontrol.wait` stays: without attributes, the grids
 * before have ended.
 */
export const startsDependents = ({ opcode, modifiers }: Operation): boolean =>
  opcode === "griddepcontrol" && modifiers[0] === "launch_dependents";

function dependentsOfCallees({ functions: [, ...callees] }: CallGraph, refuse: Refuse): void {
  for (const func of callees)
    for (const one of instructionsOf(func))
      if (startsDependents(one.operation))
        refuse("dependent-launch", one, `${func.name} contains ${one.operation.text}`);
}

export function forbiddenWhenPersistent(graph: CallGraph, refuse: Refuse): void {
  graph.functions.forEach((func, i) => {
    if (i === 0 && !readsUnusual(func) && !hasOperation(func, isForOneBlock)) return;
    const { specials } = controlFlow(func).names;
    for (const one of instructionsOf(func)) {
      persistent(one, specials.get(one) ?? [], refuse);
      if (i > 0) inCallee(one, func.name, refuse);
    }
  });
  const again = recursiveCall(graph);
  if (again !== undefined)
    refuse("recursion", again, `${calleeOf(again)} may come back to itself from here`);
}

function isUnusual(func: Func): boolean {
  const { instructions, names } = controlFlow(func);
  return (
    hasOperation(func, isUnusualOperation) ||
    readsUnusual(func) ||
    names.numberOf.has("%ctaid") ||
    names.numberOf.has("%nctaid") ||
    instructions.some((one) => one.operands.some(hidesRegisters))
  );
}

const isUnusualOperation = ({ opcode, modifiers }: Operation) =>
  !operations.has(opcode) ||
  modifiers.some((one) => one === "cluster" || one === "multicast::cluster");

const usual: ReadonlySet<string> = new Set(["%tid", "%ntid", "%ctaid", "%nctaid", "%laneid"]);

function readsUnusual(func: Func): boolean {
  for (const names of controlFlow(func).names.specials.values())
    if (!names.every((name) => usual.has(name))) return true;
  return false;
}

function clusterDirective(kernel: Func, name: string, text: string, refuse: Refuse): void {
  const one = /^[\s1,]*$/.test(text);
  if (name === ".reqnctapercluster" && one && text !== "") return;
  if (
    name === ".reqnctapercluster" ||
    name === ".explicitcluster" ||
    name === ".maxclusterrank" ||
    name === ".blocksareclusters"
  )
    refuse("cluster", kernel, `${name} ${text} asks for clusters`.replace("  ", " "));
}

function statement(one: Statement, specials: Specials, refuse: Refuse): void {
  if (one.kind === "verbatim" && !harmless.has(one.word))
    refuse("not-understood", one, `what ${one.word} means is not known`);
  if (one.kind === "variable" && one.space === "global")
    refuse("static-variable", one, `${one.names[0]?.name} would be there twice`);
  if (one.kind === "instruction") instruction(one, specials.get(one) ?? [], refuse);
}

function instruction(one: Instruction, specials: readonly string[], refuse: Refuse): void {
  const { text, opcode, modifiers } = one.operation;
  if (opcode === "multimem") refuse("multimem", one, `${text} is used`);
  else if (opcode === "clusterlaunchcontrol") refuse("cluster", one, `${text} is used`);
  else if (opcode === "barrier" && modifiers[0] === "cluster")
    refuse("cluster", one, `${text} waits for other blocks`);
  else if (!operations.has(opcode)) refuse("not-understood", one, `what ${text} does is not known`);
  if (modifiers.includes("multicast::cluster")) refuse("multicast", one, `${text} is used`);
  for (const operand of one.operands)
    if (operand.kind === "name" && (operand.name === "%ctaid" || operand.name === "%nctaid"))
      refuse("not-understood", one, `${operand.name} is read as a vector`);
  if (one.operands.some(hidesRegisters))
    refuse("not-understood", one, `an operand of ${text} is an expression of registers`);
  for (const name of specials) {
    // Variants run without clusters: a block is the only one of its cluster, so its rank is 0 and
    // `mapa` finds its own shared memory. But the cluster's number is the block's.
    if (/^%n?clusterid/.test(name)) refuse("cluster", one, `${name} is read`);
    else if (name.startsWith("%envreg"))
      refuse("cooperative", one, `${name} is read, as for grid-wide synchronisation`);
    else if (name === "%gridid") refuse("grid-id", one, `${name} is read`);
    else if (name === "%current_graph_exec")
      refuse("dynamic-parallelism", one, `${name} is read, as for launching graphs`);
  }
}

/** The parser has misread a constant expression that names a register. */
function hidesRegisters(operand: Operand): boolean {
  if (operand.kind === "raw") return operand.text.includes("%");
  if (operand.kind === "vector" || operand.kind === "list")
    return operand.elements.some(hidesRegisters);
  return operand.kind === "memory" && operand.rest.some(hidesRegisters);
}

const isForOneBlock = ({ opcode }: Operation) => opcode === "tcgen05" || opcode === "alloca";

function persistent(one: Instruction, specials: readonly string[], refuse: Refuse): void {
  const { text, opcode } = one.operation;
  if (opcode === "tcgen05") refuse("tensor-memory", one, `${text} is used`);
  else if (opcode === "alloca") refuse("alloca", one, `${text} is used`);
  for (const name of specials) {
    if (name.startsWith("%clock")) refuse("clock", one, `${name} is read`);
    else if (name === "%warpid") refuse("warp-id", one, `${name} is read`);
  }
}

/** A variant may add to shared memory. */
export function fixedShared(graph: CallGraph, refuse: Refuse): void {
  for (const func of graph.functions) {
    if (!readsUnusual(func) && !hasOperation(func, isOfShared)) continue;
    const { specials } = controlFlow(func).names;
    for (const one of instructionsOf(func)) {
      for (const name of specials.get(one) ?? [])
        if (name === "%total_smem_size" || name === "%aggr_smem_size")
          refuse("shared-memory", one, `${name} is read, and the variant has more`);
      if (!isOfShared(one.operation)) continue;
      for (const operand of one.operands)
        if (operand.kind === "memory" && operand.base.kind === "immediate")
          refuse(
            "absolute-address",
            one,
            `${one.operation.text} goes to address ${operand.base.text}`,
          );
    }
  }
}

const isOfShared = ({ modifiers }: Operation) =>
  modifiers.some((part) => part.startsWith("shared"));

function inCallee(one: Instruction, name: string, refuse: Refuse): void {
  const { text, opcode, modifiers } = one.operation;
  if (opcode === "exit") refuse("callee-exits", one, `${name} contains ${text}`);
  if (opcode === "barrier" || (opcode === "bar" && modifiers[0] !== "warp"))
    refuse("callee-barrier", one, `${name} contains ${text}`);
  if (opcode === "mbarrier") refuse("callee-barrier", one, `${name} contains ${text}`);
  if (opcode === "setmaxnreg") refuse("setmaxnreg", one, `${name} contains ${text}`);
  const asynchronous =
    opcode === "wgmma" || modifiers[0] === "async" || modifiers.includes("reduce");
  if (opcode === "wgmma" || (opcode === "cp" && asynchronous))
    refuse("async-outstanding", one, `${name} contains ${text}`);
}
