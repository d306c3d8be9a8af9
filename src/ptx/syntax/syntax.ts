// A tree is immutable: a pass makes new nodes and shares the others. Immediates, initialisers and
// names are kept as written; what is not understood is a `Verbatim` piece. Blanks and comments stay
// in the source, where the printer finds them by the spans of the nodes around.
import type { AnalysisCache } from "./analysis-cache.ts";

/**
 * A node with a span is printed as its source has it; a pass that changes a node gives it `made`.
 * The span of a block or function says nothing of the statements inside.
 */
export interface Spanned {
  readonly at: number;
  readonly end: number;
}

export const made: Spanned = { at: -1, end: -1 };

export interface Module {
  readonly source: string;
  readonly items: readonly Item[];
  readonly analyses: AnalysisCache<readonly Item[]>;
}

export type Item = Func | Variable | Verbatim;

/** `.entry` is a kernel, `.func` a device function; without a body it is a declaration. */
export interface Func extends Spanned {
  readonly kind: "function";
  readonly entry: boolean;
  readonly linkage: Linkage;
  readonly attributes: string;
  readonly returns: readonly Variable[];
  readonly name: string;
  readonly params: readonly Variable[];
  /** `.maxntid 128, 1, 1`, `.noreturn` or `.pragma "..."` may stand before the body. */
  readonly directives: readonly Directive[];
  readonly bodyAt: number;
  readonly body: readonly Statement[] | undefined;
  /** While `body` is the same list and there is a span, all of the function is as in the source. */
  readonly bodyRead: readonly Statement[] | undefined;
  readonly analyses: AnalysisCache<readonly Statement[] | undefined>;
}

/** "" is the module's own. */
export type Linkage = "" | ".visible" | ".extern" | ".weak" | ".common";

export interface Directive {
  readonly name: string;
  /** It is as written: "128, 1, 1". */
  readonly text: string;
}

export type Statement = Instruction | Label | Variable | Block | Verbatim;

/** `{ ... }` is a scope of its own for names. */
export interface Block extends Spanned {
  readonly kind: "block";
  readonly body: readonly Statement[];
}

export interface Label extends Spanned {
  readonly kind: "label";
  readonly name: string;
}

/** `.shared .align 16 .b8 tile[1024], other;`: `space` and `type` are without their dot. */
export interface Variable extends Spanned {
  readonly kind: "variable";
  readonly linkage: Linkage;
  readonly space: string;
  readonly attributes: string;
  /** They are bytes; undefined: as the type asks. */
  readonly align: number | undefined;
  /** It counts the elements of `.v2`, `.v4`, `.v8`; 1 is a scalar. */
  readonly vector: 1 | 2 | 4 | 8;
  readonly type: string;
  readonly qualifiers: string;
  readonly names: readonly Declarator[];
}

export interface Declarator {
  readonly name: string;
  /** `%r<10>` declares %r0 to %r9; undefined declares `name` itself. */
  readonly count: number | undefined;
  readonly dims: readonly string[];
  readonly init: string | undefined;
}

/** `.loc 1 2 3`, `.pragma "nounroll";`, debug sections. `word` has its dot; "": not understood. */
export interface Verbatim extends Spanned {
  readonly kind: "verbatim";
  readonly word: string;
  readonly text: string;
}

/** `@!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1+8];` is one. */
export interface Instruction extends Spanned {
  readonly kind: "instruction";
  readonly predicate: Predicate | undefined;
  readonly operation: Operation;
  readonly operands: readonly Operand[];
}

export interface Predicate {
  readonly register: string;
  readonly negated: boolean;
}

/** All instructions with the same action share one object: compare by identity or `text`. */
export interface Operation {
  /** It is "ld.global.v2.u32", for example. */
  readonly text: string;
  readonly opcode: string;
  /** ["global", "v2", "u32"] are such; `::` stays inside its part: "L2::cache_hint". */
  readonly modifiers: readonly string[];
}

export type Operand = Name | Immediate | Sum | Memory | Vector | List | Pair | Not | Raw;

/** "%r1", "%tid.x", "%v.y", "smem", "$L__BB0_2", "_": a component is included. */
export interface Name {
  readonly kind: "name";
  readonly name: string;
}

/** It is exactly as written, with its sign: "-1", "0x10", "0f3F800000", "7U". */
export interface Immediate {
  readonly kind: "immediate";
  readonly text: string;
}

/** It is a name's address plus a constant, outside brackets: `mov.u64 %rd1, table+8;`. */
export interface Sum {
  readonly kind: "sum";
  readonly name: string;
  readonly offset: string;
}

/** `[%rd1+16]`, `[smem]`, `[64]`; `rest` is the sampler and coordinates of a texture or tensor. */
export interface Memory {
  readonly kind: "memory";
  readonly base: Name | Immediate;
  /** It is as written with its sign, or "" if there is none: "+16", "+-16". */
  readonly offset: string;
  readonly rest: readonly Operand[];
}

/** It is written `{%r1, %r2}`. */
export interface Vector {
  readonly kind: "vector";
  readonly elements: readonly Operand[];
}

/** A call has `(param0, param1)`. */
export interface List {
  readonly kind: "list";
  readonly elements: readonly Operand[];
}

/** setp, shfl and their like have `%p1|%p2`. */
export interface Pair {
  readonly kind: "pair";
  readonly first: Operand;
  readonly second: Operand;
}

/** It is written `!%p1`. */
export interface Not {
  readonly kind: "not";
  readonly operand: Name;
}

/** It is a constant expression as written: `(1<<4)|3`. */
export interface Raw {
  readonly kind: "raw";
  readonly text: string;
}

const operations = new Map<string, Operation>();
/** Hostile input must not make the table grow for ever. */
const OPERATIONS_KEPT = 20_000;

export function operation(text: string): Operation {
  const known = operations.get(text);
  if (known !== undefined) return known;
  const [opcode = "", ...modifiers] = text.split(".");
  const made: Operation = { text, opcode, modifiers };
  if (operations.size >= OPERATIONS_KEPT) operations.clear();
  operations.set(text, made);
  return made;
}
