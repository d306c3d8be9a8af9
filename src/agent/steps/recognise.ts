// How the bursts of a client make steps, if they do. A step is what a program repeats: a token of an LLM engine, an image of an
// eager service, an iteration. On the GPU it is one long burst, the main one, and short ones that belong to it: inputs copied
// in, a token sampled and copied out. So there are steps if bursts fall into long and short ones with hardly any between, and
// about as many short ones come with each long one every time (docs/design/decisions/0022).
import type { BurstRecord } from "./burst-ring.ts";
import { clearGaps } from "./clear-gap.ts";

export interface StepShape {
  /** A burst at least so long is the main one of a step. ns. */
  readonly mainNs: number;
  /** Numbers of launches that tell what a burst is, however long it took. */
  readonly mainLaunches: ReadonlySet<number>;
  readonly shortLaunches: ReadonlySet<number>;
  /** Short bursts of most steps, */
  readonly short: number;
  /** and those of them that come after the main one. */
  readonly trailing: number;
  /** Bursts with more time between them are not of one step. ns. */
  readonly breakNs: number;
}

/** A main burst is at least this many times as long as a short one, but for a few in a hundred. */
const MAIN_RATIO = 3;
const OUTLIERS = 0.025;
/** Short bursts are at most so much of the time in bursts. */
const SHORT_PART = 0.25;
/** Smallest number of steps as evidence. Fewer random ones often have a usual number, too. */
const MIN_STEPS = 13;
/** The usual number of short bursts, at least one, comes in this many of the steps. */
const MIN_USUAL_PART = 0.5;
/**
 * Where they come at random, it comes so often: other work beside, at a steady mean rate, makes one short burst in 37 % of the cases
 * (Poisson). Short and long requests are one after the other so in a quarter at most: with a part p of long ones, p(1 - p)^n come after n
 * short ones. Of few steps the usual number must be in more than half, by this many standard deviations above this.
 */
const RANDOM = 0.37;
const DEVIATIONS = 4;
/** The latest bursts are also judged by themselves, because those before may belong to a start-up. */
const LATEST = 100;
/** A number of launches identifies a kind of burst if at least 8 bursts had it, 95 % of them of that kind. */
const TOLD_BY = 8;
const NEARLY_ALL = 0.95;
/** Times between the bursts of one step are at most this many times their 95th percentile. */
const BREAK_FACTOR = 4;
const MIN_BREAK_NS = 1e6;

/** `bursts`: one after the other, a few hundred of them. undefined: they make no steps, as far as these tell. */
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

/**
 * Beside best-effort work some of the short bursts wait, and there are two gaps. Bursts that launch as much are of one sort, so the
 * gap that puts the fewest of one sort on both sides is the right one, and of such the widest.
 */
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

/** By number of launches. */
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

/** Bursts whose sort is on both sides. */
function countOnBothSides(bursts: readonly BurstRecord[], mainNs: number): number {
  let count = 0;
  for (const { main, all } of sortsOf(bursts, mainNs).values())
    if (main > (1 - NEARLY_ALL) * all && main < NEARLY_ALL * all) count += all;
  return count;
}

/** Beside best-effort work a short burst may be long. How much it launches stays the same. */
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

/** undefined: none is usual, or none at all is. */
function usualNumber(counts: readonly number[]): number | undefined {
  if (counts.length < MIN_STEPS) return undefined;
  const times = new Map<number, number>();
  for (const count of counts) times.set(count, (times.get(count) ?? 0) + 1);
  const [usual = [0, 0]] = [...times].toSorted(([, a], [, b]) => b - a);
  const [count, often] = usual;
  const random = RANDOM + DEVIATIONS * Math.sqrt((RANDOM * (1 - RANDOM)) / counts.length);
  return count > 0 && often >= Math.max(MIN_USUAL_PART, random) * counts.length ? count : undefined;
}

/** The times between bursts, by place: first those after a main burst, last those before one. Of steps of the usual kind. */
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

/** Whatever idle time there is between requests is where the mean gap is longest. */
function boundary(gaps: readonly (readonly number[])[]): number {
  const means = gaps.map((times) => times.reduce((sum, ns) => sum + ns, 0) / times.length);
  return means.indexOf(Math.max(...means));
}

function quantile(values: readonly number[], q: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}
