// Random kernels of which some wait for other blocks: words that blocks look at in every way there is, set by this
// block or that, through registers, memory and functions; among loops that end by themselves.
import fc from "fast-check";
import { type DrawnStep, drawnLine, drawnStep } from "./drawn-steps.ts";

export const BLOCKS = 4;

/** How a block's number follows from its place in the grid, and the grid. */
const numberings = {
  row: { grid: [BLOCKS, 1, 1], number: "mov.u32 %block, %ctaid.x; mov.u32 %blocks, %nctaid.x;" },
  rows: { grid: [2, BLOCKS / 2, 1], number: numbered("%ctaid.y", "%nctaid.x", "%ctaid.x") },
  columns: { grid: [2, BLOCKS / 2, 1], number: numbered("%ctaid.x", "%nctaid.y", "%ctaid.y") },
} as const;

/** Slow x size + fast. */
function numbered(slow: string, size: string, fast: string): string {
  return `mov.u32 %other, ${slow}; mov.u32 %seen, ${size}; mov.u32 %left, ${fast};
mad.lo.s32 %block, %other, %seen, %left; mov.u32 %blocks, ${BLOCKS};`;
}
/** Words of each table: as many as blocks before the blocks' entries, more behind, slots, and a counter. */
export const WORDS = 64;

/** Which word of a table: of which block, by its number. */
const places = {
  own: "mov.u32 %at, %block;",
  before: "sub.u32 %at, %block, 1;",
  behind: "add.u32 %at, %block, 1;",
  mirrored: "sub.u32 %at, %blocks, %block; sub.u32 %at, %at, 1;",
  first: "mov.u32 %at, 0;",
  second: "mov.u32 %at, 1;",
  third: "mov.u32 %at, 2;",
  last: "sub.u32 %at, %blocks, 1;",
  drawn: "mov.u32 %at, %drawn;",
} as const;
type Where = keyof typeof places;
/** All entries, one by one. */
const entries = ["first", "second", "third", "last"] as const satisfies readonly Where[];

const fresh = ["ld.volatile", "ld.relaxed.gpu", "ld.acquire.gpu", "ld.cg", "ld.cv"] as const;
const updates = ["add.u32", "or.b32", "max.u32", "xor.b32"] as const;

/** How a word is looked at; what is found is in %seen. */
type Look =
  | { readonly kind: "load"; readonly how: (typeof fresh)[number] | "ld"; readonly space: string }
  | { readonly kind: "update"; readonly how: (typeof updates)[number] }
  | { readonly kind: "swap" }
  | { readonly kind: "copy" };

/** The places that a value passes before it is asked. */
type Through = "register" | "shared" | "local" | "function" | "functions";

interface Looking {
  readonly look: Look;
  readonly through: Through;
  readonly table: number;
  readonly where: Where;
}

type Step =
  /** Sets a word, for all blocks or for one. */
  | {
      readonly kind: "set";
      readonly how: "st.volatile" | "st.release.gpu" | "st.cg" | "exch" | "red";
      readonly by: "all" | "last" | "first";
      readonly table: number;
      readonly where: Where;
    }
  /** Goes round until the word is set: for ever, so many times, or over all words again and again. */
  | (Looking & { readonly kind: "wait"; readonly rounds: "endless" | "counted" | "ring" })
  /** Looks once. */
  | (Looking & { readonly kind: "look" })
  | {
      readonly kind: "take";
      readonly by: "cas" | "exch";
      readonly table: number;
      readonly where: Where;
      readonly gives: boolean;
    }
  | {
      readonly kind: "retry";
      readonly table: number;
      readonly where: Where;
      readonly apart: boolean;
    }
  | { readonly kind: "draw"; readonly table: number; readonly by: 1 | 2 }
  /** Goes over tiles by numbers that come through shared memory; `peeks`: or until a word is set. */
  | {
      readonly kind: "tiles";
      readonly table: number;
      readonly by: "each" | "last" | "nobody";
      readonly peeks: boolean;
      readonly where: Where;
    }
  | { readonly kind: "slot"; readonly table: number }
  | { readonly kind: "rows" }
  | DrawnStep;

const table = fc.nat({ max: 1 });
const where = fc.constantFrom(...(Object.keys(places) as Where[]));
const looking = {
  look: fc.oneof(
    fc.record({
      kind: fc.constant("load" as const),
      how: fc.constantFrom(...fresh, "ld" as const),
      space: fc.constantFrom(".global", ""),
    }),
    fc.record({ kind: fc.constant("update" as const), how: fc.constantFrom(...updates) }),
    fc.record({ kind: fc.constant("swap" as const) }),
    fc.record({ kind: fc.constant("copy" as const) }),
  ),
  through: fc.constantFrom<Through>("register", "shared", "local", "function", "functions"),
  table,
  where,
};

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("set" as const),
      how: fc.constantFrom("st.volatile", "st.release.gpu", "st.cg", "exch", "red"),
      by: fc.constantFrom("all", "all", "last", "first"),
      table,
      where,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      rounds: fc.constantFrom("endless", "endless", "counted", "ring"),
      ...looking,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("look" as const), ...looking }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("take" as const),
      by: fc.constantFrom("cas", "exch"),
      table,
      where,
      gives: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("retry" as const),
      table,
      where,
      apart: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("draw" as const), table, by: fc.constantFrom(1, 2) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("tiles" as const),
      table,
      by: fc.constantFrom("each", "each", "last", "nobody"),
      peeks: fc.constantFrom(false, false, true),
      where,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("slot" as const), table }) },
  { weight: 1, arbitrary: fc.constant({ kind: "rows" as const }) },
  { weight: 1, arbitrary: drawnStep },
);

/** The thread that sets the entries of a table, before all else. */
const setters = ["own", "behind", "mirrored", "last", "nobody"] as const;

export const waitingProgram = fc.record({
  numbering: fc.constantFrom<keyof typeof numberings>("row", "row", "rows", "columns"),
  setters: fc.tuple(fc.constantFrom(...setters), fc.constantFrom(...setters)),
  steps: fc.array(step, { minLength: 1, maxLength: 4 }),
});

/** Mostly steps with drawn numbers. */
export const drawingProgram = fc.record({
  numbering: fc.constantFrom<keyof typeof numberings>("row", "row", "rows"),
  setters: fc.tuple(fc.constantFrom("nobody", "nobody", "own"), fc.constant("nobody" as const)),
  steps: fc.oneof(
    { weight: 3, arbitrary: fc.tuple(drawnStep) },
    { weight: 1, arbitrary: fc.tuple(drawnStep, drawnStep) },
    { weight: 1, arbitrary: fc.tuple(step, drawnStep) },
  ),
});

interface Program {
  readonly numbering: keyof typeof numberings;
  readonly setters: readonly (typeof setters)[number][];
  readonly steps: readonly Step[];
}

export const gridOf = ({ numbering }: Program) => numberings[numbering].grid;

/** One block's thread; the others only leave. */
export function waitingSource({ numbering, setters, steps }: Program): string {
  let labels = 0;
  const functions: string[] = [];
  const address = (one: { table: number; where: Where }) =>
    `${places[one.where]} mul.wide.s32 %offset, %at, 4; add.s64 %word, %table${one.table}, %offset;`;

  const lookAt = (one: Looking): string => {
    const { look } = one;
    switch (look.kind) {
      case "load":
        return `${withSpace(look.how, look.space)}.u32 %seen, [%word];`;
      case "update":
        return `atom.global.${look.how} %seen, [%word], 0;`;
      case "swap":
        return "atom.global.cas.b32 %seen, [%word], 7, 7;";
      case "copy":
        return "cp.async.ca.shared.global [box], [%word], 4; cp.async.wait_all; ld.shared.u32 %seen, [box];";
    }
  };
  const looked = (one: Looking): string => {
    switch (one.through) {
      case "register":
        return `${lookAt(one)} add.u32 %other, %seen, 3; sub.u32 %seen, %other, 3;`;
      case "shared":
        return `${lookAt(one)} st.shared.u32 [box+4], %seen; ld.shared.u32 %seen, [box+4];`;
      case "local":
        return `${lookAt(one)} st.local.u32 [stack], %seen; ld.local.u32 %seen, [stack];`;
      case "function":
      case "functions":
        return call(one, one.through === "functions" ? 2 : 1);
    }
  };
  const call = (one: Looking, deep: number): string => {
    const inner = deep > 1 ? call(one, deep - 1) : lookAt(one);
    const name = `look${functions.length}`;
    functions.push(functionOf(name, inner));
    return `{ .param .b64 p0; .param .b32 r0; st.param.b64 [p0], %word; call.uni (r0), ${name}, (p0); ld.param.b32 %seen, [r0]; }`;
  };

  const line = (one: Step): string => {
    const n = labels++;
    switch (one.kind) {
      case "turn":
      case "back":
        return drawnLine(one, n);
      case "set": {
        const set =
          one.how === "exch"
            ? "atom.global.exch.b32 %other, [%word], 1;"
            : one.how === "red"
              ? "red.global.or.b32 [%word], 1;"
              : `${withSpace(one.how, ".global")}.u32 [%word], 1;`;
        if (one.by === "all") return `${address(one)} ${set}`;
        const number = one.by === "first" ? "0" : "%lastblock";
        return `${address(one)} setp.ne.u32 %p, %block, ${number}; @%p bra S${n}; ${set} S${n}:`;
      }
      case "look":
        return `${address(one)} ${looked(one)} min.u32 %seen, %seen, 0; add.u32 %sum, %sum, %seen;`;
      case "wait":
        if (one.rounds === "ring")
          return `mov.u32 %ring, 0; mov.u32 %left, %blocks;
W${n}: mul.wide.u32 %offset, %ring, 4; add.s64 %word, %table${one.table}, %offset;
${looked(one)}
setp.eq.u32 %p, %seen, 0; @%p mov.u32 %left, %blocks; @!%p sub.u32 %left, %left, 1;
add.u32 %ring, %ring, 1; setp.eq.u32 %p, %ring, %blocks; @%p mov.u32 %ring, 0;
setp.ne.u32 %p, %left, 0; @%p bra W${n};`;
        return `${address(one)} mov.u32 %left, 3000;
W${n}: ${looked(one)}
setp.ne.u32 %p, %seen, 0; @%p bra V${n};
${one.rounds === "counted" ? `sub.u32 %left, %left, 1; setp.ne.u32 %p, %left, 0; @%p` : ""} bra W${n};
V${n}: min.u32 %seen, %seen, 1; add.u32 %sum, %sum, %seen;`;
      case "take": {
        const take =
          one.by === "cas"
            ? "atom.global.cas.b32 %seen, [%word], 1, 0; setp.ne.u32 %p, %seen, 1;"
            : "atom.global.exch.b32 %seen, [%word], 0; setp.eq.u32 %p, %seen, 0;";
        const give = one.gives ? "atom.global.exch.b32 %other, [%word], 1;" : "";
        return `${address(one)}\nT${n}: ${take} @%p bra T${n}; ${give}`;
      }
      case "retry":
        return `${address(one)} ld.volatile.global.u32 %seen, [%word];
R${n}: mov.u32 %other, %seen; add.u32 %left, %other, 2;
atom.global.cas.b32 %seen, [%word${one.apart ? "+4" : ""}], %other, %left;
setp.ne.u32 %p, %seen, %other; @%p bra R${n};`;
      case "draw":
        return `D${n}: atom.global.add.u32 %drawn, [%table${one.table}+${4 * (WORDS - BLOCKS - 1)}], ${one.by};
setp.lt.u32 %p, %drawn, 9; @%p bra D${n}; min.u32 %drawn, %drawn, 3;`;
      case "tiles": {
        const draw = `atom.global.add.u32 %seen, [%table${one.table}+${4 * (WORDS - BLOCKS - 2)}], ${one.by === "last" ? "%adds" : one.by === "each" ? 2 : 0};
st.shared.u32 [box+8], %seen; ld.shared.u32 %tile, [box+8]; add.u32 %other, %tile, 2;`;
        const peek = `ld.volatile.global.u32 %left, [%word]; setp.ne.u32 %p, %left, 0; @%p bra Z${n};`;
        return `${address(one)} mov.u32 %left, 0; setp.eq.u32 %p, %block, %lastblock; selp.u32 %adds, 2, 0, %p;
${draw} setp.gt.u32 %p, %other, 9; @%p bra Z${n};
Y${n}: mul.wide.u32 %offset, %tile, 4; add.s64 %offset, %input, %offset; ld.global.u32 %other, [%offset];
st.shared.u32 [box+12], %other; ${one.peeks ? peek : ""}
${draw} setp.le.u32 %p, %other, 9; @%p bra Y${n};
Z${n}: min.u32 %left, %left, 1; add.u32 %sum, %sum, %left;`;
      }
      case "slot":
        return `add.u32 %other, %block, 3; cvt.u64.u32 %offset, 64; add.s64 %word, %table${one.table}, %offset;
H${n}: atom.global.cas.b32 %seen, [%word], 0, %other; add.s64 %word, %word, 4;
setp.ne.u32 %p, %seen, 0; @%p bra H${n};`;
      case "rows":
        return `mul.wide.u32 %offset, %block, 4; add.s64 %word, %input, %offset;
ld.global.u32 %left, [%word]; mov.u32 %ring, 0;
L${n}: setp.ge.u32 %p, %ring, %left; @%p bra M${n};
ld.global.u32 %seen, [%word]; add.u32 %sum, %sum, %seen; add.u32 %ring, %ring, 1; bra L${n};
M${n}:`;
    }
  };
  const begin = setters.flatMap((who, table): Step[] => {
    const set = { kind: "set", how: "st.volatile", table } as const;
    if (who === "nobody") return [];
    if (who !== "last") return [{ ...set, by: "all", where: who }];
    return entries.map((where): Step => ({ ...set, by: "last", where }));
  });
  const body = [...begin, ...steps].map(line).join("\n");
  return `.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 box[20];
${functions.join("\n")}
.visible .entry k(.param .u64 table0, .param .u64 table1, .param .u64 input, .param .u64 out, .param .u64 counters, .param .u64 marks) {
${registers}
.local .align 4 .b8 stack[8];
ld.param.u64 %table0, [table0]; ld.param.u64 %table1, [table1];
ld.param.u64 %input, [input]; ld.param.u64 %out, [out];
ld.param.u64 %counters, [counters]; ld.param.u64 %marks, [marks];
${numberings[numbering].number} sub.u32 %lastblock, %blocks, 1;
mov.u32 %sum, 1; mov.u32 %drawn, 0;
mov.u32 %at, %tid.x; setp.ne.u32 %p, %at, 0; @%p ret;
add.s64 %table0, %table0, ${4 * BLOCKS}; add.s64 %table1, %table1, ${4 * BLOCKS};
add.s64 %marks, %marks, ${4 * BLOCKS};
${body}
mul.wide.u32 %offset, %block, 4; add.s64 %word, %out, %offset; st.global.u32 [%word], %sum;
ret;
}
`;
}

const registers = `.reg .b64 %table0, %table1, %input, %out, %counters, %marks, %word, %offset; .reg .pred %p;
.reg .b32 %block, %blocks, %lastblock, %at, %seen, %other, %left, %ring, %drawn, %sum, %tile, %adds, %mine<16>, %handed<16>;`;

const functionOf = (name: string, look: string) =>
  `.func (.param .b32 found) ${name}(.param .b64 place) {
.reg .b64 %word; .reg .b32 %seen;
ld.param.b64 %word, [place];
${look}
st.param.b32 [found], %seen; ret; }`;

/** "ld.volatile" with its space where PTX has it: behind the order, before how the cache is used. */
const withSpace = (how: string, space: string) =>
  /\.c[gv]$/.test(how) ? how.replace(/\.(c[gv])$/, `${space}.$1`) : `${how}${space}`;
