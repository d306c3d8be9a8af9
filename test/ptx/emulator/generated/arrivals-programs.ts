// Random kernels whose warps hand numbers on through barriers with a count, as FlashAttention-3 has groups of warps take
// turns: who is done arrives at the barrier of the next one and goes on. The last arrivals are left over, or some in the
// middle; some programs hang as written.
import fc from "fast-check";

export const LANES = 32;

export interface Arriving {
  /** Groups that take turns, and warps of each. */
  readonly groups: number;
  readonly warps: number;
  /** Warps that only look on. */
  readonly others: number;
  readonly turns: number | "block";
  /** The first turn is opened by the last group, a warp that looks on, or nobody. */
  readonly opens: "last" | "other" | "nobody";
  /** The last arrival is left out. */
  readonly last: "arrives" | "waits for nobody";
  readonly ids: "constant" | "computed" | "from a parameter";
  readonly count: "constant" | "moved" | "varied" | "from a parameter";
  /** Arrivals of a group that nobody waits for, in each block or in some. */
  readonly extra: "none" | "each block" | "some blocks" | "some lanes" | "twice";
  readonly form: "bar" | "aligned" | "not aligned";
  readonly barrier: "other id" | "same id";
}

const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(usual) },
    ...others.map((one) => ({ weight: 1, arbitrary: fc.constant(one) })),
  );

export const arriving: fc.Arbitrary<Arriving> = fc.record({
  groups: fc.integer({ min: 2, max: 3 }),
  warps: fc.integer({ min: 1, max: 2 }),
  others: fc.integer({ min: 0, max: 2 }),
  turns: fc.constantFrom<Arriving["turns"]>(1, 2, 3, "block"),
  opens: mostly<Arriving["opens"]>("last", "other", "nobody"),
  last: fc.constantFrom<Arriving["last"]>("arrives", "arrives", "waits for nobody"),
  ids: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<Arriving["ids"]>("constant", "computed") },
    { weight: 1, arbitrary: fc.constant<Arriving["ids"]>("from a parameter") },
  ),
  count: mostly<Arriving["count"]>("constant", "moved", "varied", "from a parameter"),
  extra: mostly<Arriving["extra"]>("none", "each block", "some blocks", "some lanes", "twice"),
  form: mostly<Arriving["form"]>("bar", "aligned", "not aligned"),
  barrier: mostly<Arriving["barrier"]>("other id", "same id"),
});

export const threadsOf = ({ groups, warps, others }: Arriving): number =>
  LANES * (groups * warps + others);

/** `k(out, zero)`: each block's groups multiply and add to numbers by turns, a warp to each, and a lane stores what each has seen. */
export function arrivingSource(one: Arriving): string {
  const { groups, warps } = one;
  const full = 2 * LANES * warps;
  const [sync, arrive] = {
    bar: ["bar.sync", "bar.arrive"],
    aligned: ["barrier.sync.aligned", "barrier.arrive.aligned"],
    "not aligned": ["barrier.sync", "barrier.arrive"],
  }[one.form];
  const count = {
    constant: `${full}`,
    moved: "%full",
    varied: "%full",
    "from a parameter": "%full",
  }[one.count];
  const id = (group: string | number) =>
    typeof group === "number" && one.ids === "constant" ? `${group + 1}` : "%id";
  const setId = (group: string) =>
    `and.b32 %id, ${group}, 3; add.u32 %id, %id, 1;${one.ids === "from a parameter" ? " add.u32 %id, %id, %zero;" : ""}`;
  const all = Array.from({ length: groups }, (_, group) => group);
  return `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 zero) {
.shared .align 4 .b32 numbers[2];
.reg .b32 %t, %warp, %group, %next, %block, %sum, %seen, %id, %full, %zero, %turn, %turns, %lane, %last, %at;
.reg .b64 %out, %offset;
.reg .pred %is, %leads;
ld.param.u64 %out, [out]; ld.param.u32 %zero, [zero];
mov.u32 %t, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %lane, %laneid;
shr.u32 %warp, %t, 5; shfl.sync.idx.b32 %warp, %warp, 0, 31, 0xffffffff;
div.u32 %group, %warp, ${warps};
mov.u32 %full, ${full};
${one.count === "from a parameter" ? "add.u32 %full, %full, %zero;" : ""}
${one.count === "varied" ? `setp.gt.u32 %is, %block, 99; @%is mov.u32 %full, ${full + LANES};` : ""}
mov.u32 %turns, ${one.turns === "block" ? "%block" : one.turns};
${one.turns === "block" ? "add.u32 %turns, %turns, 1;" : ""}
mov.u32 %sum, 0; mov.u32 %turn, 0;
rem.u32 %at, %warp, ${warps}; mov.u32 %next, numbers; mad.lo.u32 %at, %at, 4, %next;
setp.ge.u32 %is, %t, 2; @%is bra Ready;
mad.lo.u32 %next, %t, 4, %next; st.shared.u32 [%next], %block;
Ready:
bar.sync ${one.barrier === "same id" ? 1 : 0};
${opening(one, (group) => `${setId(`${group}`)} ${arrive} ${id(group)}, ${count};`)}
setp.ge.u32 %is, %group, ${groups}; @%is bra Out;
${one.ids === "constant" ? all.map((group) => `setp.eq.u32 %is, %group, ${group}; @%is bra Turn_${group};`).join("\n") : ""}
${
  one.ids === "constant"
    ? all
        .map((group) =>
          turn(
            one,
            `_${group}`,
            `${sync} ${id(group)}, ${count};`,
            `${arrive} ${id((group + 1) % groups)}, ${count};`,
          ),
        )
        .join("\n")
    : turn(
        one,
        "",
        `${setId("%group")} ${sync} %id, ${count};`,
        `add.u32 %next, %group, 1; rem.u32 %next, %next, ${groups}; ${setId("%next")} ${arrive} %id, ${count};`,
      )
}
Out:
setp.ne.u32 %is, %lane, 0; @%is bra End;
mad.lo.u32 %id, %block, ${threadsOf(one) / LANES}, %warp;
mul.wide.u32 %offset, %id, 4; add.u64 %out, %out, %offset; st.global.u32 [%out], %sum;
End:
ret;
}
`;
}

function opening({ opens, groups, warps, extra }: Arriving, at: (group: number) => string): string {
  const lines: string[] = [];
  const by = (warp: number, many: number, what: string, label: string) =>
    lines.push(
      `setp.lt.u32 %is, %warp, ${warp}; @%is bra ${label}; setp.ge.u32 %is, %warp, ${warp + many}; @%is bra ${label};
${what}
${label}:`,
    );
  if (opens === "last") by((groups - 1) * warps, warps, at(0), "Opened");
  if (opens === "other") by(groups * warps, warps, at(0), "Opened");
  // Nobody waits for the barrier behind those of the groups.
  const own = at(groups);
  if (extra === "each block") by(1, 1, own, "Extra");
  if (extra === "twice") by(0, 1, `${own} ${own}`, "Extra");
  if (extra === "some blocks")
    by(
      1,
      1,
      `and.b32 %last, %block, 1; setp.eq.u32 %is, %last, 1; @%is bra Extra;\n${own}`,
      "Extra",
    );
  if (extra === "some lanes")
    by(1, 1, `setp.gt.u32 %is, %lane, 3; @%is bra Extra;\n${own}`, "Extra");
  return lines.join("\n");
}

function turn({ groups, last }: Arriving, name: string, sync: string, arrive: string): string {
  const left =
    last === "arrives"
      ? ""
      : `add.u32 %last, %turn, 1; setp.eq.u32 %leads, %last, %turns;
setp.eq.and.u32 %leads, %group, ${groups - 1}, %leads; @%leads bra Done${name};`;
  return `Turn${name}:
${sync}
ld.shared.u32 %seen, [%at]; mad.lo.u32 %sum, %sum, 5, %seen;
bar.warp.sync 0xffffffff;
mad.lo.u32 %seen, %seen, 3, %group; add.u32 %seen, %seen, 1;
setp.eq.u32 %is, %lane, 0; @%is st.shared.u32 [%at], %seen;
bar.warp.sync 0xffffffff;
${left}
${arrive}
Done${name}:
add.u32 %turn, %turn, 1; setp.lt.u32 %is, %turn, %turns; @%is bra Turn${name};
bra Out;`;
}
