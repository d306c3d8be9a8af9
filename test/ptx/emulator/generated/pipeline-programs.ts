// Random kernels in the manner of Hopper's matrix products: one lane copies tiles into a ring of buffers, mbarriers tell
// when a tile has come and when it has been used, the other warps add tiles up. They differ in who makes the mbarriers, in
// how many tiles are copied that nobody waits for, and in who ends the mbarriers.
import fc from "fast-check";

export const WORDS = 64;
/** Size of a tile. */
const BYTES = 4 * WORDS;
/** One warp copies, two use what it copies: 64 threads, one for each word. */
export const THREADS = 96;

export interface Pipeline {
  readonly stages: number;
  /** Tiles that are used: a number, or the block's number and one. */
  readonly tiles: number | "block";
  /** Tiles that are copied and never used, as far as the ring has room. */
  readonly ahead: number;
  /** Which threads make the mbarriers. */
  readonly maker: "thread 0" | "elected" | "some blocks";
  /** How the mbarriers' addresses are written. */
  readonly places: "constant" | "counted" | "from a parameter";
  /** Users arrive at the barrier of empty buffers, perhaps by their rank in a cluster of one. */
  readonly arrivals: "own" | "rank";
  readonly ends: "nobody" | "maker" | "maker, some";
  /** How a copy is announced; "by turns": every second one by an arrival, the others apart from it. */
  readonly copy: "bulk" | "expected apart" | "expected late" | "by turns" | "never expected";
  /** Every second buffer is handed on without a tile. */
  readonly gaps: boolean;
  /** Warps give up registers, or take more. */
  readonly registers: boolean;
  readonly odd: "nothing" | "drop" | "asynchronous arrival" | "cluster number" | "cluster barrier";
}

const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant(usual) },
    ...others.map((one) => ({ weight: 1, arbitrary: fc.constant(one) })),
  );

export const pipeline: fc.Arbitrary<Pipeline> = fc.record({
  stages: fc.integer({ min: 1, max: 3 }),
  tiles: fc.constantFrom<Pipeline["tiles"]>(1, 2, 3, 5, "block"),
  ahead: fc.constantFrom(0, 0, 1, 2),
  maker: fc.constantFrom<Pipeline["maker"]>("thread 0", "elected", "some blocks"),
  places: mostly<Pipeline["places"]>("constant", "counted", "from a parameter"),
  arrivals: fc.constantFrom<Pipeline["arrivals"]>("own", "rank"),
  ends: mostly<Pipeline["ends"]>("nobody", "maker", "maker, some"),
  copy: fc.constantFrom<Pipeline["copy"]>(
    ...(["bulk", "bulk", "expected apart", "expected late", "by turns", "never expected"] as const),
  ),
  gaps: fc.boolean(),
  registers: fc.boolean(),
  odd: mostly<Pipeline["odd"]>(
    "nothing",
    "drop",
    "asynchronous arrival",
    "cluster number",
    "cluster barrier",
  ),
});

/** `k(in, out, base)`: each block adds the tiles that begin at its own number, and stores 64 words. */
export function pipelineSource(one: Pipeline): string {
  const full = (stage: number) => `bars+${8 * stage}`;
  const empty = (stage: number) => `bars+${8 * (one.stages + stage)}`;
  const all = Array.from({ length: one.stages }, (_, stage) => stage);
  const skipped = one.maker === "some blocks";
  return `.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 base) {
.shared .align 128 .b8 ring[${BYTES * one.stages}];
.shared .align 8 .b64 bars[${2 * one.stages}];
.reg .b32 %t, %warp, %number, %tiles, %sum, %word, %at, %bar, %stage, %phase, %k, %last, %lane, %made, %rank, %base;
.reg .b64 %in, %out, %from, %to, %offset, %state;
.reg .pred %is, %maker, %leads, %done, %copies;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %base, [base];
mov.u32 %t, %tid.x; shr.u32 %warp, %t, 5; mov.u32 %number, %ctaid.x;
shfl.sync.idx.b32 %warp, %warp, 0, 31, 0xffffffff;
mov.u32 %rank, ${one.odd === "cluster number" ? "%clusterid.x" : "%cluster_ctarank"};
${one.odd === "cluster number" ? "sub.u32 %rank, %rank, %number;" : ""}
mov.u32 %tiles, ${one.tiles === "block" ? "%ctaid.x" : one.tiles};
${one.tiles === "block" ? "add.u32 %tiles, %tiles, 1;" : ""}
mov.u32 %sum, 0;
mul.wide.u32 %offset, %number, ${BYTES}; add.u64 %out, %out, %offset; add.u64 %in, %in, %offset;
${skipped ? "and.b32 %made, %number, 1; setp.eq.u32 %is, %made, 0; @%is bra Store;" : ""}
${makerOf(one)}
@!%maker bra Made;
${initOf(one, all.map(full), all.map(empty))}
Made:
${one.odd === "cluster barrier" ? "barrier.cluster.arrive; barrier.cluster.wait;" : ""}
bar.sync 0;
setp.ne.u32 %is, %warp, 0; @%is bra Use;
${one.registers ? "setmaxnreg.dec.sync.aligned.u32 40;" : ""}
elect.sync %lane|%leads, 0xffffffff;
@!%leads bra Copied;
${copying(one)}
Copied:
bra Ended;
Use:
${one.registers ? "setmaxnreg.inc.sync.aligned.u32 232;" : ""}
${using(one)}
Ended:
${one.ends === "nobody" ? "" : endOf(one, [...all.map(full), ...all.map(empty)])}
Store:
setp.lt.u32 %is, %t, 32; @%is bra Out;
sub.u32 %at, %t, 32; mul.wide.u32 %offset, %at, 4; add.u64 %to, %out, %offset;
add.u32 %sum, %sum, %number; st.global.u32 [%to], %sum;
Out:
ret;
}
`;
}

function makerOf({ maker }: Pipeline): string {
  if (maker !== "elected") return "setp.eq.u32 %maker, %t, 0;";
  return `mov.u32 %made, 0; elect.sync %lane|%maker, 0xffffffff; @%maker mov.u32 %made, 1;
setp.eq.u32 %maker, %made, 1; setp.eq.and.u32 %maker, %warp, 0, %maker;`;
}

function initOf(one: Pipeline, full: readonly string[], empty: readonly string[]): string {
  const init = (address: string, count: number) =>
    `mbarrier.init.shared::cta.b64 [${address}], ${count};`;
  if (one.places === "constant")
    return [...full.map((at) => init(at, 1)), ...empty.map((at) => init(at, WORDS))].join("\n");
  const start =
    one.places === "counted"
      ? "mov.u32 %bar, bars;"
      : "mov.u32 %bar, bars; add.u32 %bar, %bar, %base;";
  return `${start} mov.u32 %k, 0;
Making: ${init("%bar", 1)} ${init(`%bar+${8 * full.length}`, WORDS)}
add.u32 %bar, %bar, 8; add.u32 %k, %k, 1; setp.lt.u32 %is, %k, ${full.length}; @%is bra Making;`;
}

const ring = (stages: number) => `rem.u32 %stage, %k, ${stages}; div.u32 %phase, %k, ${stages};
mov.u32 %bar, bars; mad.lo.u32 %bar, %stage, 8, %bar;
mov.u32 %at, ring; mad.lo.u32 %at, %stage, ${BYTES}, %at;`;

/**
 * Tiles beyond those that are used find a buffer free as long as the ring has one. Who invalidates mbarriers may not have
 * copies under way.
 */
function copying(one: Pipeline): string {
  const more = one.ends === "nobody" ? Math.min(one.ahead, one.stages) : 0;
  const drop =
    one.odd === "drop"
      ? `mbarrier.arrive_drop.shared::cta.b64 %state, [bars+${8 * one.stages}];`
      : "";
  const arrives =
    one.odd === "asynchronous arrival"
      ? `cp.async.mbarrier.arrive.shared::cta.b64 [bars+${8 * one.stages}];`
      : "";
  return `add.u32 %last, %tiles, ${more}; mov.u32 %k, 0;
${arrives}
Copy: ${ring(one.stages)}
add.u32 %phase, %phase, 1; and.b32 %phase, %phase, 1;
Free: mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar+${8 * one.stages}], %phase; @!%done bra Free;
mul.wide.u32 %offset, %k, ${BYTES}; add.u64 %from, %in, %offset;
${one.gaps ? "and.b32 %word, %k, 1; setp.ne.u32 %is, %word, 0; @%is bra Gap;" : ""}
${announced(one.copy)}
${one.gaps ? `bra Handed;\nGap: ${ARRIVE}\nHanded:` : ""}
add.u32 %k, %k, 1; setp.lt.u32 %is, %k, %last; @%is bra Copy;
${drop}`;
}

const COPY = `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%from], ${BYTES}, [%bar];`;
const ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [%bar];";
const BOTH = `mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], ${BYTES};`;
const EXPECT = `mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], ${BYTES};`;

function announced(how: Pipeline["copy"]): string {
  switch (how) {
    case "bulk":
      return `${BOTH}\n${COPY}`;
    case "expected apart":
      return `${EXPECT}\n${COPY}\n${ARRIVE}`;
    case "expected late":
      return `${COPY}\n${EXPECT}\n${ARRIVE}`;
    case "by turns":
      return `${COPY}\nand.b32 %word, %k, 1; setp.eq.u32 %is, %word, 0;
@%is ${BOTH}\n@!%is ${EXPECT}\n@!%is ${ARRIVE}`;
    case "never expected":
      return `${COPY}\n${ARRIVE}`;
  }
}

function using(one: Pipeline): string {
  const arrive =
    one.arrivals === "own"
      ? `mbarrier.arrive.shared::cta.b64 _, [%bar+${8 * one.stages}];`
      : `add.u32 %bar, %bar, ${8 * one.stages}; mapa.shared::cluster.u32 %bar, %bar, %rank; mbarrier.arrive.shared::cluster.b64 _, [%bar];`;
  return `mov.u32 %k, 0;
Next: ${ring(one.stages)}
and.b32 %phase, %phase, 1;
Full: mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], %phase; @!%done bra Full;
${one.gaps ? "and.b32 %word, %k, 1; setp.ne.u32 %is, %word, 0; @%is bra Unread;" : ""}
mad.lo.u32 %at, %t, 4, %at; ld.shared.u32 %word, [%at+-128]; mad.lo.u32 %sum, %sum, 3, %word;
${one.gaps ? "Unread:" : ""}
${arrive}
add.u32 %k, %k, 1; setp.lt.u32 %is, %k, %tiles; @%is bra Next;`;
}

function endOf({ ends }: Pipeline, places: readonly string[]): string {
  const some = ends === "maker" ? places : places.slice(1);
  return `bar.sync 0;
${some.map((at) => `@%maker mbarrier.inval.shared::cta.b64 [${at}];`).join("\n")}`;
}
