// A register is varying unless it is shown to be uniform, or if divergent code writes it.

import { type Names, NOBODY } from "../syntax/names.ts";
import { addNames, baseName, registerName, writesFirst } from "../syntax/operation-facts.ts";
import { isSpecial } from "../syntax/special-registers.ts";
import type { Func, Instruction, Operand } from "../syntax/syntax.ts";
import {
  addressOf,
  constantValue,
  type Definitions,
  definitions,
  isFullMask,
  WARP_SIZE,
} from "./addresses.ts";
import { behindBarrier } from "./behind-barrier.ts";
import { controlFlow, decidedBy, type Flow, postDominators } from "./control-flow.ts";
import { splitLiveRanges } from "./live-ranges.ts";
import {
  areWholeWarps,
  comparisonResult,
  join,
  lanesOfMask,
  plain,
  product,
  type Sameness,
  sum,
} from "./sameness.ts";
import { isThreadRank } from "./thread-rank.ts";
import { unwritten } from "./unwritten.ts";

export interface Uniformity {
  readonly flow: Flow;
  /** It has how uniform the branch at a block's end is; "block": threads do not diverge there. */
  readonly parting: readonly Sameness[];
  of(register: string): Sameness;
  among(together: ReadonlySet<number>): Uniformity;
}

/**
 * `wholeWarps`: a block's x size is a multiple of 32, so a warp is 32 neighbours in x. Exited
 * threads don't count. Threads go the same way at the end of the blocks `together`.
 */
export function uniformity(
  func: Func,
  wholeWarps: boolean,
  together: ReadonlySet<number> = new Set(),
): Uniformity {
  const flow = splitLiveRanges(controlFlow(func));
  const { names, instructions, blocks } = flow;
  const params = new Set(
    func.entry ? func.params.flatMap((one) => one.names.map((n) => n.name)) : [],
  );
  const facts: Facts = {
    names,
    values: names.texts.map((_, number) => initially(number, names, wholeWarps)),
    readers: readersOf(names, instructions.length),
    known: definitions(flow),
    stale: new Uint8Array(instructions.length).fill(1),
    ranks: names.numberOf.has("%tid.z"),
    isUnwritten: unwritten(flow, params),
    isBehindBarrier: behindBarrier(flow, definitions(flow)),
    params,
  };
  const post = postDominators(flow, false);
  const parting: Sameness[] = blocks.map(() => "block");
  const control: Sameness[] = blocks.map(() => "block");
  for (let changed = true; changed; ) {
    changed = settle(flow, control, facts);
    blocks.forEach((block, n) => {
      if (together.has(n)) return;
      const how = partingAt(flow, block.end - 1, facts);
      if (join(parting[n] ?? "varying", how) === parting[n]) return;
      parting[n] = how;
      changed = true;
      for (const one of decidedBy(flow, post, n)) {
        const where = join(control[one] ?? "varying", how);
        if (where === control[one]) continue;
        control[one] = where;
        facts.stale.fill(1, blocks[one]?.first, blocks[one]?.end);
      }
    });
  }
  return {
    flow,
    parting,
    of: (register) => known(register, facts) ?? "varying",
    among: (more) => uniformity(func, wholeWarps, more),
  };
}

interface Facts {
  readonly names: Names;
  /** It has the result so far by the number of the name; undefined: it is not visited yet. */
  readonly values: (Sameness | undefined)[];
  readonly readers: Readers;
  readonly known: Definitions;
  /** It is 1 for an instruction that reads a name whose result has changed since the last visit. */
  readonly stale: Uint8Array;
  readonly isUnwritten: (load: Instruction) => boolean;
  readonly isBehindBarrier: (load: Instruction) => boolean;
  readonly ranks: boolean;
  /** Those of a device function may differ between threads. */
  readonly params: ReadonlySet<string>;
}

/** A register that is never written may hold anything; addresses and labels are uniform. */
function initially(number: number, names: Names, wholeWarps: boolean): Sameness | undefined {
  const name = names.texts[number] ?? "";
  if (isSpecial(baseName(name))) return special(name, wholeWarps);
  if (names.writer[number] !== NOBODY) return undefined;
  return name.startsWith("%") ? "varying" : "block";
}

interface Readers {
  readonly instructions: Int32Array;
  readonly at: Int32Array;
}

function readersOf({ texts, numbers, at }: Names, count: number): Readers {
  // Counted first, then filled from the back.
  const ends = new Int32Array(texts.length + 1);
  const eachRead = (visit: (number: number, instruction: number) => void) => {
    for (let i = 0; i < count; i += 1)
      for (let k = at[2 * i + 1] ?? 0; k < (at[2 * i + 2] ?? 0); k += 1) visit(numbers[k] ?? 0, i);
  };
  eachRead((number) => {
    ends[number] = (ends[number] ?? 0) + 1;
  });
  for (let n = 1; n < ends.length; n += 1) ends[n] = (ends[n] ?? 0) + (ends[n - 1] ?? 0);
  const instructions = new Int32Array(ends[texts.length] ?? 0);
  eachRead((number, i) => {
    const place = (ends[number] ?? 0) - 1;
    ends[number] = place;
    instructions[place] = i;
  });
  return { instructions, at: ends };
}

/** The result is a fixed point. Returns whether anything changed. */
function settle(flow: Flow, control: readonly Sameness[], facts: Facts): boolean {
  const { names, values, readers, stale } = facts;
  let any = false;
  for (let i = stale.indexOf(1); i >= 0; i = next(stale, i)) {
    stale[i] = 0;
    const instruction = flow.instructions[i];
    const from = names.at[2 * i] ?? 0;
    const end = names.at[2 * i + 1] ?? 0;
    if (instruction === undefined || from === end) continue;
    const where = control[flow.blockOf[i] ?? 0] ?? "varying";
    const value = guardedResult(instruction, where, facts);
    if (value === undefined) continue;
    for (let k = from; k < end; k += 1) {
      const number = names.numbers[k] ?? 0;
      const before = values[number];
      const after = before === undefined ? value : join(before, value);
      if (after === before) continue;
      values[number] = after;
      any = true;
      for (let r = readers.at[number] ?? 0; r < (readers.at[number + 1] ?? 0); r += 1)
        stale[readers.instructions[r] ?? 0] = 1;
    }
  }
  return any;
}

function next(stale: Uint8Array, i: number): number {
  const behind = stale.indexOf(1, i + 1);
  return behind >= 0 ? behind : stale.indexOf(1);
}

function guardedResult(
  instruction: Instruction,
  where: Sameness,
  facts: Facts,
): Sameness | undefined {
  const value = result(instruction, facts);
  if (value === undefined) return undefined;
  const reached = where === "block" ? value : join(value, where);
  const { predicate } = instruction;
  if (predicate === undefined) return reached;
  const sameness = known(predicate.register, facts);
  if (sameness === undefined) return undefined;
  return join(reached, sameness === "lanes" ? "varying" : sameness);
}

function partingAt(flow: Flow, last: number, facts: Facts): Sameness {
  const instruction = flow.instructions[last];
  if (instruction === undefined) return "block";
  const names: string[] = [];
  if (instruction.predicate !== undefined) names.push(instruction.predicate.register);
  const index = instruction.operands[0];
  if (instruction.operation.opcode === "brx" && index !== undefined) addNames(index, names);
  let how: Sameness = "block";
  for (const name of names) how = join(how, known(name, facts) ?? "block");
  return how === "aligned" ? "block" : how;
}

function known(name: string, { names, values }: Facts): Sameness | undefined {
  const number = names.numberOf.get(name) ?? names.numberOf.get(registerName(name));
  return number === undefined ? undefined : values[number];
}

const sameInBlock: ReadonlySet<string> = new Set([
  "%ctaid",
  "%nctaid",
  "%ntid",
  "%nwarpid",
  "%smid",
  "%nsmid",
  "%gridid",
  "%clusterid",
  "%nclusterid",
  "%cluster_ctaid",
  "%cluster_nctaid",
  "%cluster_ctarank",
  "%cluster_nctarank",
  "%is_explicit_cluster",
  "%total_smem_size",
  "%aggr_smem_size",
  "%dynamic_smem_size",
]);

function special(name: string, wholeWarps: boolean): Sameness {
  if (name === "%ntid.x" && wholeWarps) return "aligned";
  if (name === "%tid.x" && wholeWarps) return "lanes";
  if ((name === "%tid.y" || name === "%tid.z") && wholeWarps) return "warp";
  if (sameInBlock.has(baseName(name)) || name.startsWith("%envreg")) return "block";
  return "varying";
}

function value(operand: Operand | undefined, facts: Facts): Sameness | undefined {
  if (operand === undefined) return "varying";
  if (operand.kind === "immediate")
    return Number(operand.text) % WARP_SIZE === 0 ? "aligned" : "block";
  if (operand.kind === "name" && operand.name === "WARP_SZ") return "aligned";
  if (operand.kind === "name") return known(operand.name, facts);
  let all: Sameness = "block";
  const names: string[] = [];
  addNames(operand, names);
  for (const name of names) {
    const one = known(name, facts);
    if (one === undefined) return undefined;
    all = join(all, one);
  }
  return all;
}

/** Results depend on operands alone, not on memory, a carry flag or other lanes. */
const pure: ReadonlySet<string> = new Set(
  `abs add and bfe bfi bfind bmsk brev clz cnot copysign cos createpolicy cvt cvta div dp2a dp4a ex2 fma fns
  isspacep lg2 lop3 mad mad24 max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf
  shl shr sin slct sqrt sub szext tanh testp xor`
    .trim()
    .split(/\s+/),
);

function result(instruction: Instruction, facts: Facts): Sameness | undefined {
  const { operation, operands } = instruction;
  const { opcode, modifiers } = operation;
  switch (opcode) {
    case "ld":
      return load(instruction, facts);
    case "bar":
    case "barrier":
      return "block";
    case "vote":
    case "redux":
      return modifiers[0] === "sync" && isConstant(operands[operands.length - 1], isFullMask, facts)
        ? "warp"
        : "varying";
    case "shfl":
      return shuffle(instruction, facts);
  }
  if (!pure.has(opcode)) return "varying";
  const sources: Sameness[] = [];
  for (let i = writesFirst(instruction) ? 1 : 0; i < operands.length; i += 1) {
    const source = value(operands[i], facts);
    if (source === undefined) return undefined;
    sources.push(source);
  }
  const [a = "varying", b = "varying", c = "varying"] = sources;
  return arithmetic(instruction, facts, a, b, c) ?? plain(sources);
}

function load(instruction: Instruction, facts: Facts): Sameness | undefined {
  const { operation, operands } = instruction;
  const address = operands[1];
  if (address?.kind !== "memory") return "varying";
  const at = value(address, facts);
  if (at === undefined) return undefined;
  const where = operation.modifiers;
  const constant =
    where.includes("const") ||
    (where.includes("global") && where.includes("nc")) ||
    (where[0] === "param" && isOfKernel(address, facts));
  if (constant) return plain([at]);
  const alike = at !== "varying" && at !== "lanes";
  if (!alike) return "varying";
  if (where[0]?.startsWith("shared") && facts.isBehindBarrier(instruction)) return "warp";
  return facts.isUnwritten(instruction) ? plain([at]) : "varying";
}

/** The name may be moved to a register first; what calls pass has a name of its own. */
function isOfKernel(address: Operand, { known, params }: Facts): boolean {
  const terms = addressOf(address, known)?.terms ?? new Map<string, number>();
  return [...terms].some(([name, factor]) => factor === 1 && params.has(name));
}

/** Only a broadcast of one lane to a whole warp is uniform. */
function shuffle({ operation, operands }: Instruction, facts: Facts): Sameness | undefined {
  const [, , lane, clamp, mask] = operands;
  const whole =
    operation.modifiers[0] === "sync" &&
    operation.modifiers[1] === "idx" &&
    isConstant(clamp, (value) => value === WARP_SIZE - 1, facts) &&
    isConstant(mask, isFullMask, facts);
  if (!whole) return "varying";
  const from = value(lane, facts);
  if (from === undefined) return undefined;
  return from === "lanes" || from === "varying" ? "varying" : "warp";
}

const isConstant = (
  operand: Operand | undefined,
  wanted: (value: number) => boolean,
  { known }: Facts,
) => wanted(constantValue(operand, known));

const integers: ReadonlySet<string> = new Set(["b32", "u32", "s32", "b64", "u64", "s64"]);

function arithmetic(
  { operation, operands }: Instruction,
  facts: Facts,
  a: Sameness,
  b: Sameness,
  c: Sameness,
): Sameness | undefined {
  const { opcode, modifiers } = operation;
  const { known } = facts;
  if (!integers.has(modifiers[modifiers.length - 1] ?? "")) return undefined;
  if (facts.ranks && (opcode === "mad" || opcode === "add") && isThreadRank(operands[0], known))
    return "lanes";
  const second = operands[2];
  switch (opcode) {
    case "mov":
    case "cvt":
      return wideEnough(modifiers) ? a : undefined;
    case "add":
    case "or":
      return sum(a, b);
    case "mul":
      return modifiers[0] === "hi" ? undefined : product(a, b);
    case "mad": {
      if (modifiers[0] === "hi") return undefined;
      const times = product(a, b);
      if (times !== undefined) return sum(times, c);
      // Rows are whole warps here: a row's first thread is the first of a warp.
      const rows = (a === "warp" && b === "aligned") || (a === "aligned" && b === "warp");
      return rows && c === "lanes" ? "lanes" : undefined;
    }
    case "shl":
      return (a === "block" || a === "aligned") && constantValue(second, known) >= 5
        ? "aligned"
        : undefined;
    case "shr":
    case "bfe":
      return a === "lanes" && constantValue(second, known) >= 5 ? "warp" : undefined;
    case "and":
      return a === "lanes" ? lanesOfMask(constantValue(second, known)) : undefined;
    case "div":
      return a === "lanes" && areWholeWarps(constantValue(second, known)) ? "warp" : undefined;
    case "setp":
      return a === "lanes"
        ? comparisonResult(modifiers[0] ?? "", constantValue(second, known), b)
        : undefined;
  }
  return undefined;
}

const wideEnough = (modifiers: readonly string[]) => modifiers.every((one) => integers.has(one));
