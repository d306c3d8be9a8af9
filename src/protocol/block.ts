// Numbers pass to another language as a block of doubles, because it has no C++ header. Doubles
// represent times of up to 2^53 ns exactly.

export interface BlockField {
  readonly kind: "flag" | "word" | "count" | "words";
  readonly type: string;
  readonly doc: string;
}
export type BlockFields = Readonly<Record<string, BlockField>>;

export const flag = (doc = "") => ({ kind: "flag", type: "bool", doc }) as const;
export const word = (doc = "") => ({ kind: "word", type: "std::uint32_t", doc }) as const;
/** The type has 64 bits. Infinity stands for a very long time. */
export const count = (doc = "") => ({ kind: "count", type: "std::uint64_t", doc }) as const;
export const kindOf = (type: string, doc = "") => ({ kind: "words", type, doc }) as const;
export type BlockInput<F extends BlockFields> = { -readonly [K in keyof F]: number | boolean };
export type BlockOutput<F extends BlockFields> = {
  readonly [K in keyof F]: F[K] extends { readonly kind: "flag" } ? boolean : number;
};

const DOUBLES = Symbol("doubles");

class Block {
  readonly [DOUBLES]: Float64Array;

  constructor(doubles: Float64Array) {
    this[DOUBLES] = doubles;
  }
}

const classes = new WeakMap<BlockFields, typeof Block>();

/** Blocks of the same fields have one class, so that each access is a load. */
function classOf(fields: BlockFields): typeof Block {
  const known = classes.get(fields);
  if (known) return known;
  const made = class extends Block {};
  for (const [index, [name, { kind }]] of Object.entries(fields).entries())
    Object.defineProperty(made.prototype, name, {
      get(this: Block) {
        const value = this[DOUBLES][index];
        return kind === "flag" ? value !== 0 : value;
      },
      set(this: Block, value: number | boolean) {
        this[DOUBLES][index] = Number(value);
      },
    });
  classes.set(fields, made);
  return made;
}

export const blockInput = <F extends BlockFields>(
  fields: F,
  doubles: Float64Array,
): BlockInput<F> => new (classOf(fields))(doubles) as unknown as BlockInput<F>;

export const blockOutput = <F extends BlockFields>(
  fields: F,
  doubles: Float64Array,
): BlockOutput<F> => new (classOf(fields))(doubles) as unknown as BlockOutput<F>;

export const lengthOf = (fields: BlockFields): number => Object.keys(fields).length;
