// Random kernels whose blocks take turns at a word, the lowest z first, or seem to: numbers, words, ways to leave the
// loop and to hand over of which some make a block wait for a higher one.
import fc from "fast-check";
import type { Extent } from "#emulator";

export const THREADS = 64;

/** Which word of the table is in %at; `$skip` is the end of the kernel. */
const words = {
  /** x + sizes x y, where a block beyond the size leaves, as CUTLASS does. */
  tile: "setp.le.s32 %p, %m, %cx; @%p bra $skip; mad.lo.s32 %at, %m, %cy, %cx;",
  /** The same with CUTLASS's way through the tiles. */
  swizzled: `shr.s32 %u, %cx, %l; shl.b32 %v, -1, %l; not.b32 %v, %v; and.b32 %v, %cx, %v;
shl.b32 %w, %cy, %l; add.s32 %v, %v, %w; setp.le.s32 %p, %m, %u; @%p bra $skip; mad.lo.s32 %at, %m, %v, %u;`,
  grid: "mov.u32 %u, %nctaid.x; mad.lo.s32 %at, %cy, %u, %cx;",
  places: "and.b32 %u, %cx, 3; shl.b32 %v, %cy, 2; add.s32 %at, %u, %v;",
  /** Blocks may share a word. */
  unbounded: "mad.lo.s32 %at, %m, %cy, %cx;",
  onlyX: "mov.u32 %at, %cx;",
  one: "mov.u32 %at, 0;",
  sum: "add.s32 %at, %cx, %cy;",
  /** Each layer has words of its own. */
  layered: "mov.u32 %u, %nctaid.x; mad.lo.s32 %at, %cz, %u, %cx;",
} as const;

/** The number that is waited for, in %turn. */
const turns = {
  own: "mov.u32 %turn, %cz;",
  plus: "add.s32 %turn, %cz, 4;",
  next: "add.s32 %turn, %cz, 1;",
  reversed: "sub.s32 %turn, %nz, %cz; sub.s32 %turn, %turn, 1;",
  row: "mov.u32 %turn, %cy;",
} as const;

/** The value that is written, in %gives. */
const gifts = {
  next: "add.s32 %gives, %turn, 1;",
  after: "add.s32 %gives, %cz, 6;",
  before: "sub.s32 %gives, %turn, 1;",
  own: "mov.u32 %gives, %turn;",
  big: "mov.u32 %gives, 100;",
  /** The last begins again. */
  around:
    "add.s32 %u, %cz, 1; setp.eq.s32 %p, %u, %k; add.s32 %v, %turn, 1; selp.b32 %gives, %first, %v, %p;",
  aroundByBranch: `add.s32 %gives, %turn, 1; add.s32 %u, %cz, 1; setp.ne.s32 %p, %u, %k; @%p bra $given;
mov.u32 %gives, %first; $given:`,
  anew: "mov.u32 %gives, %first;",
} as const;

const conditions = {
  ne: "setp.ne.s32 %q, %state, %turn;",
  /** Left when the word is the number or more, or as soon as it is not the number. */
  lt: "setp.lt.s32 %q, %state, %turn;",
  eq: "setp.eq.s32 %q, %state, %turn;",
} as const;

/**
 * The threads that look: thread 0 and all learn it by a reduction, thread 0 alone with a barrier behind, or all
 * threads.
 */
type Who = "reduction" | "any" | "first" | "each";

export interface Turning {
  readonly grid: Extent;
  readonly word: keyof typeof words;
  readonly turn: keyof typeof turns;
  readonly gift: keyof typeof gifts;
  readonly condition: keyof typeof conditions;
  readonly who: Who;
  /** Does a parameter decide whether blocks take turns, and does the write ask the same, another, or nothing? */
  readonly guard: "none" | "same" | "alike" | "waitsOnly" | "writesOnly";
  /** Does the block wait a second time? */
  readonly again: boolean;
  /** A barrier before the write, which is thread 0's. */
  readonly barrier: boolean;
  readonly write: "st.global.release.gpu" | "st.global" | "atom.global.exch";
}

const mostly = <T>(usual: T, ...others: T[]) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(usual) },
    { weight: others.length, arbitrary: fc.constantFrom(...others) },
  );

const keys = <T extends object>(of: T) => Object.keys(of) as (keyof T)[];

export const turning: fc.Arbitrary<Turning> = fc.record({
  grid: fc.tuple(
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 1, max: 3 }),
  ),
  word: fc.oneof(
    {
      weight: 2,
      arbitrary: fc.constantFrom("tile" as const, "swizzled" as const, "grid" as const),
    },
    { weight: 1, arbitrary: fc.constantFrom(...keys(words)) },
  ),
  turn: mostly<keyof typeof turns>("own", ...keys(turns)),
  gift: fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom("around" as const, "aroundByBranch" as const, "next" as const),
    },
    { weight: 1, arbitrary: fc.constantFrom(...keys(gifts)) },
  ),
  condition: mostly<keyof typeof conditions>("ne", ...keys(conditions)),
  who: mostly<Who>("reduction", "any", "first", "each"),
  guard: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("none" as const, "same" as const, "alike" as const) },
    { weight: 1, arbitrary: fc.constantFrom("waitsOnly" as const, "writesOnly" as const) },
  ),
  again: mostly(false, true),
  barrier: mostly(true, false),
  write: mostly<Turning["write"]>("st.global.release.gpu", "st.global", "atom.global.exch"),
});

/** Parameters: the table, results, a row's tiles, by how many bits rows are swizzled, and how many layers there are. */
export function turningSource(one: Turning): string {
  const look = "ld.global.acquire.gpu.b32 %state, [%word];";
  const wait = (n: number): string => {
    const loop = {
      reduction: `bra T${n};
F${n}: ${look}
T${n}: ${conditions[one.condition]} bar.red.and.pred %q, 0, %q; @!%q bra D${n};
setp.gt.s32 %p, %thread, 0; @%p bra T${n}; bra F${n};
D${n}: bar.sync 0;`,
      any: `bra T${n};
F${n}: ${look}
T${n}: setp.gt.s32 %p, %thread, 0; ${conditions[one.condition]} @%p setp.ne.s32 %q, 0, 0;
bar.red.or.pred %q, 0, %q; @!%q bra D${n};
@%p bra T${n}; bra F${n};
D${n}: bar.sync 0;`,
      first: `setp.gt.s32 %p, %thread, 0; @%p bra D${n};
F${n}: ${look} ${conditions[one.condition]} @%q bra F${n};
D${n}: bar.sync 0;`,
      each: `F${n}: ${look} ${conditions[one.condition]} @%q bra F${n};`,
    }[one.who];
    return `mov.u32 %state, -1;\n${loop}`;
  };
  const waiting = [wait(0), ...(one.again ? [wait(1)] : [])].join("\n");
  const isGuarded = one.guard !== "none" && one.guard !== "writesOnly";
  const writesGuarded = one.guard === "same" || one.guard === "writesOnly";
  const write =
    one.write === "atom.global.exch"
      ? "atom.global.exch.b32 %u, [%word], %gives;"
      : `${one.write}.u32 [%word], %gives;`;
  return `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 table, .param .u64 out, .param .u32 rows, .param .u32 bits, .param .u32 layers) {
.reg .b64 %table, %out, %word, %offset; .reg .pred %p, %q, %s, %t;
.reg .b32 %cx, %cy, %cz, %nz, %m, %l, %k, %thread, %at, %u, %v, %w, %turn, %first, %gives, %state, %block;
ld.param.u64 %table, [table]; ld.param.u64 %out, [out];
ld.param.u32 %m, [rows]; ld.param.u32 %l, [bits]; ld.param.u32 %k, [layers];
mov.u32 %cx, %ctaid.x; mov.u32 %cy, %ctaid.y; mov.u32 %cz, %ctaid.z; mov.u32 %nz, %nctaid.z; mov.u32 %thread, %tid.x;
${words[one.word]}
mul.wide.s32 %offset, %at, 4; add.s64 %word, %table, %offset;
${turns[one.turn]} mov.u32 %first, ${one.turn === "plus" ? 4 : 0};
setp.gt.s32 %s, %k, 1; setp.lt.s32 %t, %k, 2;
${isGuarded ? "@!%s bra $waited;" : ""}
${waiting}
$waited:
${gifts[one.gift]}
setp.gt.s32 %p, %thread, 0;
${one.barrier ? "bar.sync 0;" : ""}
@%p bra $skip;
${writesGuarded ? "@!%s bra $skip;" : one.guard === "alike" ? "@%t bra $skip;" : ""}
${write}
$skip:
mov.u32 %u, %nctaid.x; mov.u32 %v, %nctaid.y; mad.lo.s32 %block, %cz, %v, %cy; mad.lo.s32 %block, %block, %u, %cx;
setp.ne.s32 %p, %thread, 0; @%p ret;
mul.wide.s32 %offset, %block, 4; add.s64 %word, %out, %offset; st.global.u32 [%word], 1;
ret;
}
`;
}
