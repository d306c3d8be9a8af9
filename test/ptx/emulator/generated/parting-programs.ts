// Random kernels whose lanes part, leave and meet: early exits, branches and loops that differ in a warp, and warp-wide
// operations with every kind of mask. Many of them wait for lanes that have left; many others never end as written.
import fc from "fast-check";

/** Values that predicates compare. */
const values = ["%lane", "%first", "%rank", "%input", "%n", "%carried", "%taken"] as const;
const relations = ["lt", "ge", "eq", "ne", "gt", "le"] as const;
const masks = [
  "full",
  "low",
  "one",
  "ballot",
  "same ballot",
  "other ballot",
  "active",
  "match",
  "part",
] as const;

interface Test {
  readonly value: (typeof values)[number];
  readonly how: (typeof relations)[number];
  readonly bound: number;
}

type Step =
  | { readonly kind: "leave"; readonly test: Test; readonly how: "ret" | "end" }
  /** `again`: in a register of its own, which the steps in the same place use from here on. */
  | {
      readonly kind: "mask";
      readonly from: (typeof masks)[number];
      readonly test: Test;
      readonly anew: boolean;
    }
  | {
      readonly kind: "meet";
      readonly how: "shfl" | "ballot" | "redux" | "warp" | "any";
      readonly full: boolean;
      readonly under: Test | undefined;
    }
  | { readonly kind: "if"; readonly test: Test | "voted"; readonly inside: readonly Step[] }
  | { readonly kind: "loop"; readonly times: Test["value"] | 2; readonly body: readonly Step[] }
  | { readonly kind: "count" }
  | { readonly kind: "barrier" }
  /** All take what one thread has put into shared memory, or look there again. */
  | { readonly kind: "put"; readonly what: Exclude<Test["value"], "%taken">; readonly by: number }
  | { readonly kind: "take" };

const bounds = fc.constantFrom(0, 1, 3, 7, 15, 16, 31, 32, 40);
const test: fc.Arbitrary<Test> = fc.record({
  value: fc.constantFrom(...values),
  how: fc.constantFrom(...relations),
  bound: bounds,
});

const { steps } = fc.letrec<{ steps: readonly Step[]; step: Step }>((tie) => ({
  steps: fc.array(tie("step"), { minLength: 1, maxLength: 5 }),
  step: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({
      kind: fc.constant("meet" as const),
      how: fc.constantFrom("shfl", "ballot", "redux", "warp", "any"),
      full: fc.boolean(),
      under: fc.option(test, { nil: undefined, freq: 6 }),
    }),
    fc.record({
      kind: fc.constant("mask" as const),
      from: fc.constantFrom(...masks),
      test,
      anew: fc.constantFrom(true, true, false),
    }),
    fc.record({ kind: fc.constant("leave" as const), test, how: fc.constantFrom("ret", "end") }),
    fc.constantFrom<Step>({ kind: "count" }, { kind: "barrier" }, { kind: "take" }),
    fc.record({
      kind: fc.constant("put" as const),
      what: fc.constantFrom("%lane", "%input", "%n", "%carried"),
      by: fc.constantFrom(0, 1, 40),
    }),
    fc.record({
      kind: fc.constant("if" as const),
      test: fc.oneof(test, fc.constant("voted" as const), fc.constant("voted" as const)),
      inside: tie("steps"),
    }),
    fc.record({
      kind: fc.constant("loop" as const),
      times: fc.constantFrom<Test["value"] | 2>(2, 2, "%n", "%input"),
      body: tie("steps"),
    }),
  ),
}));

export const partingProgram = fc.record({
  steps,
  block: fc.constantFrom<readonly [number, number, number]>(
    [32, 1, 1],
    [48, 1, 1],
    [8, 8, 1],
    [16, 1, 3],
  ),
});

/** The same steps with nothing but barriers of the whole warp for warp-wide operations. */
const atWarpBarriers = (steps: readonly Step[]): readonly Step[] =>
  steps.map((one): Step => {
    if (one.kind === "meet") return { ...one, how: "warp", full: true };
    if (one.kind === "if") return { ...one, inside: atWarpBarriers(one.inside) };
    return one.kind === "loop" ? { ...one, body: atWarpBarriers(one.body) } : one;
  });

/** Programs in which lanes leave first, and the others meet at barriers of the whole warp. */
export const leavingProgram = fc
  .record({ test, how: fc.constantFrom("ret" as const, "end" as const), program: partingProgram })
  .map(({ test: asked, how, program: { steps: rest, block } }) => ({
    steps: [{ kind: "leave", test: asked, how } as const, ...atWarpBarriers(rest)],
    block,
  }));

export function partingSource(program: readonly Step[]): string {
  let labels = 0;
  const setp = ({ value, how, bound }: Test, to: string) =>
    `setp.${how}.u32 ${to}, ${value}, ${bound};`;

  /** The latest mask and vote. */
  let mask = "%mask";
  let voted = "%voted";
  const declared: string[] = [];

  const make = (from: (typeof masks)[number], asked: Test, n: number | undefined): string => {
    const before = mask;
    if (n !== undefined) {
      mask = `%mask${n}`;
      declared.push(`.reg .b32 ${mask};`);
    }
    const ballot = (not: string, among: string) => {
      if (n !== undefined) {
        voted = `%voted${n}`;
        declared.push(`.reg .pred ${voted};`);
      }
      return `${setp(asked, voted)} vote.sync.ballot.b32 ${mask}, ${not}${voted}, ${among};`;
    };
    switch (from) {
      case "full":
        return `mov.b32 ${mask}, -1;`;
      case "low":
        return `mov.b32 ${mask}, 0xffff;`;
      case "one":
        return `mov.b32 ${mask}, 1;`;
      case "ballot":
        return ballot("", "-1");
      case "same ballot":
        return ballot("", before);
      case "other ballot":
        return ballot("!", "-1");
      case "active":
        return `activemask.b32 ${mask};`;
      case "match":
        return `match.any.sync.b32 ${mask}, %input, -1;`;
      case "part":
        return `and.b32 ${mask}, ${before}, 0x00ff00ff;`;
    }
  };

  /** Steps in a place of their own. */
  const inside = (all: readonly Step[]): string => {
    const [outer, vote] = [mask, voted];
    const text = all.map(line).join("\n");
    [mask, voted] = [outer, vote];
    return text;
  };

  const line = (one: Step): string => {
    const n = labels++;
    switch (one.kind) {
      case "leave": {
        const leave = one.how === "ret" ? "@%p ret;" : "@%p bra END;";
        return `${setp(one.test, "%p")} ${leave}`;
      }
      case "mask":
        return make(one.from, one.test, one.anew ? n : undefined);
      case "meet": {
        const before = one.under === undefined ? "" : setp(one.under, "%p");
        const guard = one.under === undefined ? "" : "@%p ";
        return `${before} ${guard}${meet(one.how, one.full ? "-1" : mask)}`;
      }
      case "if": {
        const asked = one.test === "voted" ? `@!${voted}` : `${setp(one.test, "%p")} @!%p`;
        return `${asked} bra L${n}; ${inside(one.inside)} L${n}:`;
      }
      case "loop": {
        const times = one.times === 2 ? "2" : one.times;
        return `{ .reg .b32 %k; .reg .pred %again; mov.u32 %k, 0; L${n}: ${inside(one.body)}
add.u32 %k, %k, 1; setp.lt.u32 %again, %k, ${times}; @%again bra L${n}; }`;
      }
      case "count":
        return "add.u32 %sum, %sum, %lane; add.u32 %carried, %carried, 5;";
      case "barrier":
        return "bar.sync 0;";
      case "put":
        return `bar.sync 0; setp.eq.u32 %p, %rank, ${one.by}; @%p st.shared.u32 [word], ${one.what}; bar.sync 0;
ld.shared.u32 %taken, [word];`;
      case "take":
        return "ld.shared.u32 %taken, [word];";
    }
  };

  const meet = (how: "shfl" | "ballot" | "redux" | "warp" | "any", among: string): string => {
    switch (how) {
      case "shfl":
        return `shfl.sync.bfly.b32 %seen, %sum, 1, 31, ${among};`;
      case "ballot":
        return `vote.sync.ballot.b32 %seen, %odd, ${among};`;
      case "redux":
        return `redux.sync.add.u32 %seen, %lane, ${among};`;
      case "any":
        return `vote.sync.any.pred %odd, %odd, ${among};`;
      case "warp":
        return `bar.warp.sync ${among};`;
    }
  };

  const body = program.map(line).join("\n");
  const start = /\[word\]|%taken/.test(body)
    ? `setp.eq.u32 %p, %rank, 0; @%p st.shared.u32 [word], %n; bar.sync 0; mov.u32 %taken, %n;`
    : "";
  return `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
{
.reg .pred %p, %voted, %odd;
.reg .b32 %lane, %first, %rank, %input, %n, %carried, %mask, %sum, %seen, %a, %b, %taken;
.shared .align 4 .b32 word;
.reg .b64 %in, %out, %at;
${declared.join("\n")}
mov.u32 %lane, %laneid; mov.u32 %first, %tid.x;
mov.u32 %a, %tid.z; mov.u32 %b, %ntid.y; mad.lo.u32 %rank, %a, %b, %tid.y;
mov.u32 %a, %ntid.x; mad.lo.u32 %rank, %rank, %a, %tid.x;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %n, [n];
mov.u32 %a, %ctaid.x; mad.lo.u32 %a, %a, 64, %rank;
mul.wide.u32 %at, %a, 4; add.s64 %in, %in, %at; add.s64 %out, %out, %at;
ld.global.u32 %input, [%in];
mov.u32 %carried, 0; mov.u32 %sum, %input; mov.u32 %seen, 0; mov.b32 %mask, -1;
setp.lt.u32 %voted, %lane, 16; and.b32 %a, %lane, 1; setp.eq.u32 %odd, %a, 1;
${start}
${body}
END:
mad.lo.u32 %sum, %sum, 3, %carried;
st.global.u32 [%out], %sum;
ret;
}
`;
}
