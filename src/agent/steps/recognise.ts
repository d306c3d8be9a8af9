// A step is what a program repeats: a token of an LLM engine, an image, an iteration. On the GPU it
// is a long burst, the main one, and short ones, such as copies. So there are steps if bursts are
// long or short, and about as many short ones come with each long one (decision 0022).
import type { BurstRecord } from "./burst-ring.ts";
import { clearGaps } from "./clear-gap.ts";

export interface StepShape {
  readonly mainNs: number; // ns: a longer burst is a main one
  /** These numbers of launches tell what a burst is, however long it took. */
  readonly mainLaunches: ReadonlySet<number>;
  readonly shortLaunches: ReadonlySet<number>;
  readonly short: number;
  readonly trailing: number;
  readonly breakNs: number; // ns: a longer pause ends a step
}

/** A main burst is at least this many times as long as a short one, but for a few in a hundred. */
const MAIN_RATIO = 3;
const OUTLIERS = 0.025;
const SHORT_PART = 0.25; // short bursts take at most this part of the time
const MIN_STEPS = 13; // fewer random ones often have a usual number, too
const MIN_USUAL_PART = 0.5;
// At random, the usual number comes this often: other work at a steady rate makes one short burst
// in 37 % of the cases (Poisson). Short and long requests do so in a quarter at most: with a part p
// of long ones, p(1 - p)^n come after n short ones. The evidence must exceed this by so many
// standard deviations.
const RANDOM = 0.37;
const DEVIATIONS = 4;
const LATEST = 100;
/** A number of launches identifies a kind of burst if 95 % of at least 8 are of that kind. */
const TOLD_BY = 8;
const NEARLY_ALL = 0.95;
const BREAK_FACTOR = 4;
const MIN_BREAK_NS = 1e6;

export const recognise = (bursts: readonly BurstRecord[]): StepShape | undefined =>
  shapeOf(bursts) ?? shapeOf(bursts.slice(-LATEST));

function shapeOf(bursts: readonly BurstRecord[]): StepShape | undefined {
  const mainNs = mainLength(bursts);
  if (mainNs === undefined) return undefined;
  const known = { mainNs, ...toldByLaunches(bursts, mainNs) };
  const mains = bursts.flatMap((burst, i) => (isMain(burst, known) ? [i] : []));
  const between = mains.slice(1).map((at, i) => at - (mains[i] ?? 0) - 1);
  const short = usualNumber(between);
  if (short === undefined) return undefined;
  const gaps = gapsOf(bursts, mains, short);
  const trailing = boundary(gaps);
  const inside = gaps.flatMap((times, place) => (place === trailing ? [] : times));
  const breakNs = Math.max(MIN_BREAK_NS, BREAK_FACTOR * quantile(inside, 0.95));
  return { ...known, short, trailing, breakNs };
}

export function isMain(
  { begin, end, launches }: BurstRecord,
  shape: Pick<StepShape, "mainNs" | "mainLaunches" | "shortLaunches">,
): boolean {
  if (shape.mainLaunches.has(launches)) return true;
  return !shape.shortLaunches.has(launches) && end - begin >= shape.mainNs;
}

// With best-effort work some short bursts wait, and there are two gaps. Bursts that launch as much
// are of one sort, so the right gap puts the fewest of one sort on both sides.
function mainLength(bursts: readonly BurstRecord[]): number | undefined {
  const lengths = bursts.map(({ begin, end }) => Math.max(1, end - begin));
  const gaps = clearGaps(lengths, MAIN_RATIO, OUTLIERS).map(({ threshold }) => threshold);
  const [split] = gaps.toSorted(
    (one, other) => countOnBothSides(bursts, one) - countOnBothSides(bursts, other),
  );
  if (split === undefined) return undefined;
  const inShort = lengths.reduce((sum, ns) => sum + (ns < split ? ns : 0), 0);
  const inAll = lengths.reduce((sum, ns) => sum + ns, 0);
  return inShort <= SHORT_PART * inAll ? split : undefined;
}

interface Sort {
  main: number;
  all: number;
}

function sortsOf(bursts: readonly BurstRecord[], mainNs: number): ReadonlyMap<number, Sort> {
  const sorts = new Map<number, Sort>();
  for (const { begin, end, launches } of bursts) {
    const sort = sorts.get(launches) ?? { main: 0, all: 0 };
    sort.all++;
    if (end - begin >= mainNs) sort.main++;
    sorts.set(launches, sort);
  }
  return sorts;
}

function countOnBothSides(bursts: readonly BurstRecord[], mainNs: number): number {
  let count = 0;
  for (const { main, all } of sortsOf(bursts, mainNs).values())
    if (main > (1 - NEARLY_ALL) * all && main < NEARLY_ALL * all) count += all;
  return count;
}

/** With best-effort work a short burst may be long; its number of launches stays the same. */
function toldByLaunches(bursts: readonly BurstRecord[], mainNs: number) {
  const sorts = sortsOf(bursts, mainNs);
  const which = (tells: (part: number) => boolean) =>
    new Set(
      [...sorts].flatMap(([launches, { main, all }]) =>
        all >= TOLD_BY && tells(main / all) ? [launches] : [],
      ),
    );
  return {
    mainLaunches: which((part) => part >= NEARLY_ALL),
    shortLaunches: which((part) => part <= 1 - NEARLY_ALL),
  };
}

function usualNumber(counts: readonly number[]): number | undefined {
  if (counts.length < MIN_STEPS) return undefined;
  const times = new Map<number, number>();
  for (const count of counts) times.set(count, (times.get(count) ?? 0) + 1);
  const [usual = [0, 0]] = [...times].toSorted(([, a], [, b]) => b - a);
  const [count, often] = usual;
  const random = RANDOM + DEVIATIONS * Math.sqrt((RANDOM * (1 - RANDOM)) / counts.length);
  return count > 0 && often >= Math.max(MIN_USUAL_PART, random) * counts.length ? count : undefined;
}

/** The first times are after a main burst, the last ones before it, in steps of the usual kind. */
function gapsOf(bursts: readonly BurstRecord[], mains: readonly number[], short: number) {
  const gaps: number[][] = Array.from({ length: short + 1 }, () => []);
  mains.forEach((main, i) => {
    if ((mains[i + 1] ?? 0) - main !== short + 1) return;
    gaps.forEach((times, place) => {
      const [from, to] = [bursts[main + place], bursts[main + place + 1]];
      if (from && to) times.push(to.begin - from.end);
    });
  });
  return gaps;
}

/** The idle time between requests is where the mean gap is longest. */
function boundary(gaps: readonly (readonly number[])[]): number {
  const means = gaps.map((times) => times.reduce((sum, ns) => sum + ns, 0) / times.length);
  return means.indexOf(Math.max(...means));
}

function quantile(values: readonly number[], q: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}
