// A pointer is followed through registers and stack slots, back to a kernel parameter or a
// variable. In an addition it is the operand that was never multiplied: programs scale indices, not
// pointers.

import { writesFirst } from "../syntax/operation-facts.ts";
import { moduleScope } from "../syntax/scopes.ts";
import type { Func, Instruction, Memory, Module, Operand } from "../syntax/syntax.ts";
import { addressOf, type Definitions, definitions, parameterIn } from "./addresses.ts";
import { controlFlow, type Flow } from "./control-flow.ts";

export interface MemoryLocation {
  readonly space: "global" | "shared" | "local" | "constant" | "any";
  /** undefined: the address may come from anywhere. */
  readonly roots: ReadonlySet<string> | undefined;
  /** It is in bytes from the only root; undefined: it is not known. */
  readonly offset: number | undefined;
  readonly bytes: number;
}

export interface MemoryLocations {
  of(one: Instruction, operand: Operand | undefined): MemoryLocation;
}

export type SpaceOf = (name: string) => string | undefined;

export function spacesOf(functions: readonly Func[], module: Module): SpaceOf {
  const { variables } = moduleScope(module);
  const own = new Map<string, string>();
  for (const func of functions)
    for (const one of controlFlow(func).others)
      if (one.kind === "variable" && one.space !== "reg" && one.space !== "param")
        for (const { name } of one.names) own.set(name, one.space);
  // The name of a variable of an inlined function ends with "@" and the number of the copy.
  return (name) => {
    const plain = name.split("@", 1)[0] ?? name;
    return own.get(plain) ?? variables.get(plain)?.variable.space;
  };
}

const ANYTHING = "?";
const none: ReadonlySet<string> = new Set();

/** `params`: those of the kernel. */
export function locations(
  flow: Flow,
  spaceOf: SpaceOf,
  params: ReadonlySet<string>,
): MemoryLocations {
  const known = definitions(flow);
  const roots = rootsOf(flow, known, spaceOf);
  return {
    of(one, operand) {
      if (operand?.kind !== "memory") return anywhere;
      if (isTensor(one, operand, known, params)) return tensors;
      const found = operand.base.kind === "name" ? roots(operand.base.name) : none;
      const space = spaceOfAccess(one, operand, found, spaceOf);
      const clear = found.size > 0 && !found.has(ANYTHING);
      const bytes = bytesOf(one);
      if (!clear) return { space, roots: undefined, offset: undefined, bytes };
      const exact = addressOf(operand, known);
      const [[root, factor] = ["", 0]] = exact?.terms ?? [];
      const isExact = exact?.terms.size === 1 && factor === 1 && found.has(root);
      return { space, roots: found, offset: isExact ? exact?.constant : undefined, bytes };
    },
  };
}

/**
 * The tensor of a map that is a parameter is other memory than what other parameters point to. Several maps may be of one
 * tensor.
 */
const tensors: MemoryLocation = {
  space: "global",
  roots: new Set(["{tensors}"]),
  offset: undefined,
  bytes: 16,
};

function isTensor(
  { operation: { opcode, modifiers }, operands }: Instruction,
  operand: Memory,
  known: Definitions,
  params: ReadonlySet<string>,
): boolean {
  if (opcode !== "cp" || !modifiers.includes("tensor")) return false;
  // A copy names its destination first.
  const written = modifiers.find((part) => /^(global|shared)/.test(part));
  if ((written === "global") !== (operand === operands[0])) return false;
  const [[name, factor] = ["", 0], ...more] = addressOf(operand, known)?.terms ?? [];
  return factor === 1 && more.length === 0 && params.has(name);
}

const anywhere: MemoryLocation = { space: "any", roots: undefined, offset: undefined, bytes: 16 };

/** Parameters are assumed not to alias: a launch that passes one pointer twice is not detected. */
export function mayAlias(a: MemoryLocation, b: MemoryLocation): boolean {
  if (a.space === "constant" || b.space === "constant") return false;
  if (a.space !== b.space && a.space !== "any" && b.space !== "any") return false;
  if (a.roots === undefined || b.roots === undefined) return true;
  const other = b.roots;
  if (![...a.roots].some((one) => other.has(one))) return false;
  if (a.offset === undefined || b.offset === undefined) return true;
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

function spaceOfAccess(
  { operation: { opcode, modifiers }, operands }: Instruction,
  operand: Operand,
  roots: ReadonlySet<string>,
  spaceOf: SpaceOf,
): MemoryLocation["space"] {
  const written = modifiers.filter((one) => /^(global|shared)/.test(one));
  // A copy names two spaces, the destination's first.
  if (opcode === "cp" && operand !== operands[0]) written.shift();
  for (const one of opcode === "cp" ? written : modifiers) {
    if (one === "param" || one === "const" || one === "nc") return "constant";
    if (one === "local" || one === "global") return one;
    if (one.startsWith("shared")) return "shared";
  }
  const spaces = new Set([...roots].map((one) => spaceOf(one) ?? "global"));
  const [only] = spaces;
  if (spaces.size !== 1 || roots.has(ANYTHING)) return "any";
  return only === "shared" || only === "local" || only === "global" ? only : "any";
}

function bytesOf({ operation: { modifiers } }: Instruction): number {
  const bits = Number(/\d+$/.exec(modifiers[modifiers.length - 1] ?? "")?.[0] ?? 128);
  const vector = Number(modifiers.find((one) => /^v[248]$/.test(one))?.slice(1) ?? 1);
  return Math.max(1, (bits / 8) * vector);
}

function rootsOf(
  flow: Flow,
  known: Definitions,
  spaceOf: SpaceOf,
): (name: string) => ReadonlySet<string> {
  const found = new Map<string, Set<string>>();
  const held = new Map<string, Set<string>>();
  const copies: Copy[] = [];
  for (const one of flow.instructions) copies.push(...copiesOf(one, known));
  // Does the kernel itself store what may be a pointer where a load may find it?
  let stores = false;
  const rootsIn = (name: string): ReadonlySet<string> => {
    if (name === ANYTHING || name.startsWith(PARAMETER)) return new Set([name]);
    const own = found.get(name);
    if (own !== undefined) return own;
    if (spaceOf(name) !== undefined) return new Set([name]);
    // A symbol's space may be unknown. Registers begin with "%", or have an "@" if they pass
    // arguments.
    return /^%|@/.test(name) ? none : new Set([ANYTHING]);
  };
  const areAll = (space: string, roots: readonly string[]) =>
    roots.length > 0 && roots.every((root) => (spaceOf(root) ?? "global") === space);
  const loaded = (from: ReadonlySet<string>): ReadonlySet<string> => {
    const roots = [...from];
    if (areAll("local", roots))
      return new Set([...roots, ANYTHING].flatMap((root) => [...(held.get(root) ?? none)]));
    if (stores || from.has(ANYTHING) || !areAll("global", roots)) return new Set([ANYTHING]);
    return new Set(roots.map((root) => (root.startsWith(POINTED) ? root : POINTED + root)));
  };
  for (let grown = true; grown; ) {
    grown = false;
    for (const { to, from, through } of copies) {
      let more = rootsIn(from);
      if (through === "load") more = loaded(more);
      const targets = through === "store" ? [...rootsIn(to)] : [to];
      if (through === "store" && !stores && more.size > 0 && !areAll("local", targets)) {
        stores = true;
        grown = true;
      }
      for (const target of targets) {
        const table = through === "store" ? held : found;
        const set = table.get(target) ?? new Set();
        const before = set.size;
        for (const one of more) set.add(one);
        if (set.size === before) continue;
        table.set(target, set);
        grown = true;
      }
    }
  }
  return rootsIn;
}

/** `parameterIn` makes names that begin so; POINTED is for what pointers there point to. */
const PARAMETER = "[";
const POINTED = "*";

/** Only stack memory is followed, because no other thread writes it. */
interface Copy {
  readonly to: string;
  readonly from: string;
  readonly through: "register" | "store" | "load";
}

const handsOn: Readonly<Record<string, readonly number[]>> = {
  mov: [1],
  cvta: [1],
  cvt: [1],
  add: [1, 2],
  sub: [1],
  mad: [3],
  selp: [1, 2],
  min: [1, 2],
  max: [1, 2],
  and: [1, 2],
  or: [1, 2],
  xor: [1, 2],
  lop3: [1, 2, 3],
  shfl: [1],
  prmt: [1, 2],
  slct: [1, 2],
};

function copiesOf(one: Instruction, known: Definitions): readonly Copy[] {
  const { operation, operands } = one;
  const { opcode, modifiers } = operation;
  // Arguments of a call are no memory that others load from.
  if (opcode === "st" && modifiers[0] === "param") return [];
  if (opcode === "st" && isWide(modifiers) && operands[0]?.kind === "memory")
    return pairs(baseNames(operands[0]), namesIn(operands[1]), "store");
  if (!writesFirst(one)) return [];
  const to = namesIn(operands[0]);
  if (opcode === "ld") {
    if (!isWide(modifiers) || operands[1]?.kind !== "memory") return [];
    if (modifiers[0] === "param")
      return to.map((name) => ({
        to: name,
        from: parameterIn(name, one, known) ?? ANYTHING,
        through: "register",
      }));
    return pairs(to, baseNames(operands[1]), "load");
  }
  const from = handsOn[opcode];
  if (from !== undefined)
    return pairs(
      to,
      from.flatMap((i) => namesIn(operands[i])),
      "register",
    );
  // The old value of a 64-bit atomic may be any pointer.
  return opcode === "atom" && isWide(modifiers) ? pairs(to, [ANYTHING], "register") : [];
}

/** Only values of 64 bits or more can hold an address. */
const isWide = (modifiers: readonly string[]) =>
  /(64|128)$/.test(modifiers[modifiers.length - 1] ?? "");

const pairs = (
  to: readonly string[],
  from: readonly string[],
  through: Copy["through"],
): readonly Copy[] => to.flatMap((one) => from.map((other) => ({ to: one, from: other, through })));

const baseNames = ({ base }: Memory) => (base.kind === "name" ? [base.name] : []);

function namesIn(operand: Operand | undefined): readonly string[] {
  if (operand?.kind === "name" || operand?.kind === "sum") return [operand.name];
  if (operand?.kind === "vector") return operand.elements.flatMap(namesIn);
  return operand?.kind === "pair" ? namesIn(operand.first) : [];
}
