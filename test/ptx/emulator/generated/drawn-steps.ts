// Steps of random kernels that wait by numbers drawn from a counter: ticket locks and look-back in the order of the
// numbers, right and wrong in many ways.
import fc from "fast-check";

/** Words of the parameter that holds the counters and the turns: all begin as 0. */
export const COUNTERS = 8;

/** The blocks that take part in a step. */
const TAKERS = ["all", "last", "first"] as const;
type Taker = (typeof TAKERS)[number];

interface Draw {
  /** How much each draw adds. */
  readonly by: 1 | 2;
  /** Whether the number goes through shared memory. */
  readonly shared: boolean;
  /** Another draw before: the older number is not used. */
  readonly twice: boolean;
}

export type DrawnStep =
  /** Waits until the word of the turns is the drawn number plus `plus`, and writes the next one. */
  | (Draw & {
      readonly kind: "turn";
      readonly plus: number;
      readonly asks: "ne" | "lt";
      readonly gives: "store" | "exch" | "add" | "number of block";
      readonly next: number;
      readonly when: "before" | "after" | "after some";
      readonly takers: Taker;
    })
  /** Waits for the entry of the drawn number plus `from`, and sets the entry of the number plus `to`. */
  | (Draw & {
      readonly kind: "back";
      readonly from: number;
      readonly to: number;
      readonly sets: "drawn" | "block";
      readonly when: "before" | "after";
      readonly takers: Taker;
      readonly table: "marks" | "table0";
    });

/** Mostly the first: with several others at once, nearly all kernels hang as written. */
const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(usual) }, ...others.map((one) => fc.constant(one)));

const draw = {
  by: mostly<1 | 2>(1, 2),
  shared: fc.boolean(),
  twice: mostly(false, true),
  takers: mostly<Taker>(...TAKERS),
};

export const drawnStep: fc.Arbitrary<DrawnStep> = fc.oneof(
  fc.record({
    kind: fc.constant("turn" as const),
    ...draw,
    plus: mostly(0, 1, 2),
    asks: mostly<"ne" | "lt">("ne", "lt"),
    gives: fc.constantFrom("store", "store", "exch", "add", "add", "number of block"),
    next: mostly(1, 0, 2),
    when: mostly<"before" | "after" | "after some">("after", "after some", "before"),
  }),
  fc.record({
    kind: fc.constant("back" as const),
    ...draw,
    from: mostly(-1, -2, 0, 1, 2),
    to: mostly(0, 1, -1),
    sets: mostly<"drawn" | "block">("drawn", "block"),
    when: mostly<"before" | "after">("after", "before"),
    table: fc.constantFrom("marks", "marks", "table0"),
  }),
);

const only: Readonly<Record<Taker, (n: number, what: string) => string>> = {
  all: (_, what) => what,
  first: (n, what) => `setp.ne.u32 %p, %block, 0; @%p bra N${n}; ${what} N${n}:`,
  last: (n, what) => `setp.ne.u32 %p, %block, %lastblock; @%p bra N${n}; ${what} N${n}:`,
};

export function drawnLine(one: DrawnStep, n: number): string {
  const draws = (word: number) =>
    Array.from(
      { length: one.twice ? 2 : 1 },
      () => `atom.global.add.u32 %mine${n}, [%counters+${4 * word}], ${one.by};`,
    ).join(" ");
  const handed = one.shared
    ? `st.shared.u32 [box+16], %mine${n}; ld.shared.u32 %handed${n}, [box+16];`
    : "";
  const number = one.shared ? `%handed${n}` : `%mine${n}`;
  if (one.kind === "turn") {
    const next = `add.u32 %other, ${one.gives === "number of block" ? "%block" : number}, ${one.next};`;
    const give = {
      store: `${next} st.volatile.global.u32 [%counters+4], %other;`,
      exch: `${next} atom.global.exch.b32 %other, [%counters+4], %other;`,
      add: `red.global.add.u32 [%counters+4], ${one.next};`,
      "number of block": `${next} st.volatile.global.u32 [%counters+4], %other;`,
    }[one.gives];
    const gives = only[one.takers](n, give);
    const wait = `add.u32 %left, ${number}, ${one.plus};
U${n}: ld.volatile.global.u32 %seen, [%counters+4]; setp.${one.asks}.u32 %p, %seen, %left; @%p bra U${n};`;
    if (one.when === "before") return `${draws(0)} ${handed} ${gives}\n${wait}`;
    const some = one.when === "after some";
    const around = some ? `setp.eq.u32 %p, %block, 1; @%p bra X${n};` : "";
    return `${draws(0)} ${handed} ${around} ${wait}\n${some ? `X${n}:` : ""} ${gives}`;
  }
  const entry = (which: string, apart: number) =>
    `mul.wide.s32 %offset, ${which}, 4; add.s64 %word, %${one.table}, %offset; add.s64 %word, %word, ${4 * apart};`;
  const set = only[one.takers](
    n,
    `${entry(one.sets === "block" ? "%block" : number, one.to)} st.volatile.global.u32 [%word], 1;`,
  );
  const wait = `${entry(number, one.from)}
G${n}: ld.volatile.global.u32 %seen, [%word]; setp.eq.u32 %p, %seen, 0; @%p bra G${n};`;
  const steps = one.when === "before" ? [set, wait] : [wait, set];
  return `${draws(2)} ${handed} ${steps.join("\n")}`;
}
