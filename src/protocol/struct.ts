// 32- and 64-bit fields are read and written with Atomics: the other side is another process.
import type { Nanos } from "#core";

type Scalar = "u32" | "i32" | "u64";

export interface ScalarField {
  readonly kind: "scalar";
  readonly type: Scalar;
  readonly doc: string;
}
export interface NanosField extends ScalarField {
  readonly unit: "ns";
}
export interface ArrayField {
  readonly kind: "array";
  readonly length: number;
  readonly doc: string;
}
interface QuadsField {
  readonly kind: "quads";
  readonly length: number;
  readonly doc: string;
}
/** The text is zero-terminated UTF-8 in a fixed number of bytes. */
export interface TextField {
  readonly kind: "text";
  readonly length: number;
  readonly doc: string;
}
export interface BytesField {
  readonly kind: "bytes";
  readonly length: number;
  readonly doc: string;
}
export interface StructField<S extends Struct = Struct> {
  readonly kind: "struct";
  readonly struct: S;
  readonly count: number;
  readonly doc: string;
}
export type Field = ScalarField | ArrayField | QuadsField | TextField | BytesField | StructField;
export type Fields = Readonly<Record<string, Field>>;

export interface Struct<F extends Fields = Fields> {
  readonly name: string;
  readonly doc: string;
  readonly fields: F;
  readonly offsets: { readonly [K in keyof F]: number };
  readonly size: number;
  readonly align: number;
}

export const u32 = (doc = ""): ScalarField => ({ kind: "scalar", type: "u32", doc });
export const i32 = (doc = ""): ScalarField => ({ kind: "scalar", type: "i32", doc });
/** A JS number is exact to 2^53, enough for 104 days of nanoseconds. */
export const u64 = (doc = ""): ScalarField => ({ kind: "scalar", type: "u64", doc });
export const nanosecond = (doc = ""): NanosField => ({ ...u64(doc), unit: "ns" });
export const u32s = (length: number, doc = ""): ArrayField => ({
  kind: "array",
  length,
  doc,
});
export const u64s = (length: number, doc = ""): QuadsField => ({ kind: "quads", length, doc });
export const text = (length: number, doc = ""): TextField => ({ kind: "text", length, doc });
export const bytes = (length: number, doc = ""): BytesField => ({ kind: "bytes", length, doc });
export const one = <S extends Struct>(struct: S, doc = ""): StructField<S> & { count: 1 } => ({
  kind: "struct",
  struct,
  count: 1,
  doc,
});
export const many = <S extends Struct>(struct: S, count: number, doc = ""): StructField<S> => ({
  kind: "struct",
  struct,
  count,
  doc,
});

export function extent(field: Field): { size: number; align: number } {
  switch (field.kind) {
    case "scalar":
      return field.type === "u64" ? { size: 8, align: 8 } : { size: 4, align: 4 };
    case "array":
      return { size: 4 * field.length, align: 4 };
    case "quads":
      return { size: 8 * field.length, align: 8 };
    case "text":
    case "bytes":
      return { size: field.length, align: 1 };
    case "struct":
      return { size: field.struct.size * field.count, align: field.struct.align };
  }
}

const roundUp = (n: number, to: number) => Math.ceil(n / to) * to;

/**
 * Throws if the fields exceed `reserved` bytes; `align` raises the alignment (cache line, page).
 */
export function struct<const F extends Fields>(
  name: string,
  doc: string,
  fields: F,
  align = 4,
  reserved = 0,
): Struct<F> {
  let at = 0;
  let most = align;
  const offsets: Record<string, number> = {};
  for (const [key, field] of Object.entries(fields)) {
    const { size, align: own } = extent(field);
    at = roundUp(at, own);
    offsets[key] = at;
    at += size;
    most = Math.max(most, own);
  }
  if (reserved > 0 && at > reserved)
    throw new Error(`${name} has ${at} bytes of fields; ${reserved} are reserved`);
  const size = roundUp(Math.max(at, reserved), most);
  return { name, doc, fields, offsets: offsets as { [K in keyof F]: number }, size, align: most };
}

export type View<S extends Struct> = {
  -readonly [K in keyof S["fields"]]: S["fields"][K] extends NanosField
    ? Nanos
    : S["fields"][K] extends ScalarField
      ? number
      : S["fields"][K] extends ArrayField
        ? Words
        : S["fields"][K] extends QuadsField
          ? Quads
          : S["fields"][K] extends TextField
            ? string
            : S["fields"][K] extends BytesField
              ? Uint8Array
              : S["fields"][K] extends { kind: "struct"; count: 1; struct: infer T extends Struct }
                ? View<T>
                : S["fields"][K] extends { kind: "struct"; struct: infer T extends Struct }
                  ? readonly View<T>[]
                  : never;
};

export interface Words {
  readonly length: number;
  get(index: number): number;
  set(index: number, value: number): void;
  /** Each word is of a moment of its own. */
  copy(): Uint32Array;
}

interface Quads {
  readonly length: number;
  get(index: number): number; // exact to 2^53
  set(index: number, value: number): void;
}

/** Scalar properties read and write through. Throws a RangeError when the buffer is too short. */
export function view<S extends Struct>(struct: S, buffer: ArrayBufferLike, offset = 0): View<S> {
  if (offset + struct.size > buffer.byteLength)
    throw new RangeError(`${struct.name} needs ${struct.size} bytes at ${offset}`);
  const words = new Int32Array(buffer, 0, buffer.byteLength >> 2);
  const quads = new BigInt64Array(buffer, 0, buffer.byteLength >> 3);
  return viewIn(struct, { buffer, words, quads }, offset);
}

interface Memory {
  readonly buffer: ArrayBufferLike;
  readonly words: Int32Array;
  readonly quads: BigInt64Array;
}

/** Symbols, because any name may be that of a field. */
const MEMORY = Symbol("memory");
const AT = Symbol("offset");

class StructView {
  readonly [MEMORY]: Memory;
  readonly [AT]: number;

  constructor(memory: Memory, at: number) {
    this[MEMORY] = memory;
    this[AT] = at;
  }
}

const classes = new WeakMap<Struct, typeof StructView>();

// Views of a struct have their accessors in common: otherwise each view would have its own hidden
// class, and each read of a field would be a search.
function classOf(struct: Struct): typeof StructView {
  const known = classes.get(struct);
  if (known) return known;
  const made = class extends StructView {};
  for (const [name, field] of Object.entries(struct.fields))
    if (field.kind === "scalar")
      Object.defineProperty(made.prototype, name, accessor(field, struct.offsets[name] ?? 0));
  classes.set(struct, made);
  return made;
}

function viewIn<S extends Struct>(struct: S, memory: Memory, at: number): View<S> {
  const target = new (classOf(struct))(memory, at);
  for (const [name, field] of Object.entries(struct.fields))
    if (field.kind !== "scalar")
      Object.defineProperty(
        target,
        name,
        property(field, at + (struct.offsets[name] ?? 0), memory),
      );
  return target as unknown as View<S>;
}

function accessor(
  { type }: ScalarField,
  offset: number,
): PropertyDescriptor & ThisType<StructView> {
  if (type === "u64")
    return {
      get() {
        return loadQuad(this[MEMORY].quads, (this[AT] + offset) >> 3);
      },
      set(value: number) {
        storeQuad(this[MEMORY].quads, (this[AT] + offset) >> 3, value);
      },
    };
  return {
    get() {
      const word = Atomics.load(this[MEMORY].words, (this[AT] + offset) >> 2);
      return type === "u32" ? word >>> 0 : word;
    },
    set(value: number) {
      Atomics.store(this[MEMORY].words, (this[AT] + offset) >> 2, value | 0);
    },
  };
}

function property(
  field: Exclude<Field, ScalarField>,
  at: number,
  memory: Memory,
): PropertyDescriptor {
  const { buffer, words, quads } = memory;
  switch (field.kind) {
    case "array":
      return { value: wordArray(field, at, words) };
    case "quads":
      return { value: quadArray(field, at, quads) };
    case "text": {
      const raw = new Uint8Array(buffer, at, field.length);
      return {
        get: () => {
          const end = raw.indexOf(0);
          return new TextDecoder().decode(raw.slice(0, end < 0 ? raw.length : end));
        },
        set: (value: string) => {
          raw.fill(0);
          raw.set(new TextEncoder().encode(value).subarray(0, field.length - 1));
        },
      };
    }
    case "bytes":
      return { value: new Uint8Array(buffer, at, field.length) };
    case "struct": {
      const views = Array.from({ length: field.count }, (_, i) =>
        viewIn(field.struct, memory, at + i * field.struct.size),
      );
      return { value: field.count === 1 ? views[0] : views };
    }
  }
}

function wordArray(field: ArrayField, at: number, words: Int32Array): Words {
  const first = at >> 2;
  return {
    length: field.length,
    get: (index) => Atomics.load(words, first + index) >>> 0,
    set: (index, value) => void Atomics.store(words, first + index, value | 0),
    copy: () => new Uint32Array(words.buffer, at, field.length).slice(),
  };
}

function quadArray(field: QuadsField, at: number, quads: BigInt64Array): Quads {
  const first = at >> 3;
  return {
    length: field.length,
    get: (index) => loadQuad(quads, first + index),
    set: (index, value) => storeQuad(quads, first + index, value),
  };
}

const loadQuad = (quads: BigInt64Array, at: number): number =>
  Number(BigInt.asUintN(64, Atomics.load(quads, at)));

function storeQuad(quads: BigInt64Array, at: number, value: number): void {
  Atomics.store(quads, at, BigInt(Math.trunc(value)));
}
