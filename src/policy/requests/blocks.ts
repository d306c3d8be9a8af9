// Users judge an objective by its quantile over each window of ten seconds. Of a few minutes of such windows (blocks)
// the distribution of the extremes is known by the mean and deviation of their logarithms, as a Gumbel distribution
// (Gumbel, Statistics of Extremes, 1958): so the part of the windows that a longer time would break can be told, though
// none was broken yet. Logarithms, because a few prompts are many times as long as most.

/** A window that ended. `us`: without what slices added. */
interface Block {
  readonly atMs: number;
  readonly us: number;
}

/** One value of a request. */
interface Value {
  readonly us: number;
  /** Without what slices added to it. */
  readonly soloUs: number;
}

export interface Blocks {
  readonly closed: readonly Block[];
  /** The first windows, in which an engine compiles, are forgotten. */
  readonly warm: boolean;
  /** Values of the window that is open, and when it began. */
  readonly open: readonly Value[];
  readonly sinceMs: number;
  /**
   * Slices come so many times as rarely as the distribution tells: more for each window that only slices broke, and less for
   * each that held, so that the part that breaks tends towards the part that may (adaptive conformal inference, Gibbs and Candes 2021).
   */
  readonly caution: number;
}

export const noBlocks: Blocks = {
  closed: [],
  warm: false,
  open: [],
  sinceMs: Number.NaN,
  caution: 1,
};

const BLOCK_MS = 10_000;
const MAX_BLOCKS = 60;
/** Windows that take longer than all before them by this factor, or less, show that the engine has changed. */
const REGIME_BLOCKS = 3;
const REGIME_FACTOR = 1.2;
/** The first windows, and the number of later ones after which they are forgotten. */
const WARM_UP_BLOCKS = 2;
const ENOUGH_BLOCKS = 4;
/** An older block weighs half after this time. */
const HALF_LIFE_MS = 120_000;
/** A window that is longer than the median one by this factor was a stall, and counts as this. */
const STALL_FACTOR = 2.5;
/** This part of the windows may be broken beyond those that are broken without best-effort work. */
const ALLOWED_WINDOWS = 0.01;
/** With more broken windows than this, an engine alone leaves no room. */
const MAX_BROKEN_ALONE = 0.03;
/** A window that takes so many times its limit without slices was not broken by them. */
const CLEARLY = 1.5;
/** The caution grows by this factor for a window that slices broke. */
const CAUTION_STEP = 1.3;
/** The expected deviation weighs as much as this number of blocks. */
const PRIOR_BLOCKS = 3;
/** The quantile of the normal distribution for a confidence of 95 %. */
const Z_SURE = 1.645;
/** A Gumbel distribution has its mean at its mode and Euler's constant times its scale, and this deviation in units of the scale. */
const EULER = 0.5772;
const DEVIATION = Math.PI / Math.sqrt(6);

/** Adds the values that came until `nowMs`. `shares`: slices are in force. */
export function withBlock(
  was: Blocks,
  values: readonly Value[],
  { nowMs, limitUs, shares, judged }: Look,
): Blocks {
  const sinceMs = Number.isNaN(was.sinceMs) ? nowMs : was.sinceMs;
  const open = [...was.open, ...values];
  if (nowMs - sinceMs < BLOCK_MS) return { ...was, open, sinceMs };
  if (open.length === 0) return { ...was, open, sinceMs: nowMs };
  const { statistic, eachWindow } = judged;
  const us = statistic(open.map(({ soloUs }) => soloUs));
  // Slices may have added more than was taken off: a queue in the engine grows by them.
  const isLate = statistic(open.map((one) => one.us)) > limitUs && us <= CLEARLY * limitUs;
  const isBroken = eachWindow && isLate;
  const step = CAUTION_STEP ** (isBroken ? 1 : -ALLOWED_WINDOWS);
  const closed = [...was.closed, { atMs: nowMs, us }].slice(-MAX_BLOCKS);
  const known = sameRegime(closed);
  const isWarm = was.warm || closed.length >= WARM_UP_BLOCKS + ENOUGH_BLOCKS;
  return {
    warm: isWarm,
    closed: isWarm && !was.warm && known === closed ? closed.slice(WARM_UP_BLOCKS) : known,
    open: [],
    sinceMs: nowMs,
    caution: Math.max(1, shares || isBroken ? was.caution * step : was.caution),
  };
}

/** Without the windows before the engine changed: the latest all take longer than any before, or all less. */
function sameRegime(closed: readonly Block[]): readonly Block[] {
  const [before, now] = [closed.slice(0, -REGIME_BLOCKS), closed.slice(-REGIME_BLOCKS)];
  if (before.length < REGIME_BLOCKS) return closed;
  const range = (blocks: readonly Block[]) => {
    const times = blocks.map(({ us }) => us);
    return { least: Math.min(...times), most: Math.max(...times) };
  };
  const [old, latest] = [range(before), range(now)];
  const changed =
    latest.least > REGIME_FACTOR * old.most || REGIME_FACTOR * latest.most < old.least;
  return changed ? now : closed;
}

interface Look {
  readonly nowMs: number;
  readonly limitUs: number;
  readonly shares: boolean;
  readonly judged: Expected;
}

/**
 * The longest that a window takes without best-effort work, but for the part that may be broken; where not each window must hold,
 * what they take in the mean, with a confidence of 95 %. undefined: too little is known. Infinity: the engine alone leaves no room.
 */
export function extremeOf(
  { closed, open }: Blocks,
  limitUs: number,
  nowMs: number,
  { variation, eachWindow, statistic }: Expected,
): number | undefined {
  const [last] = closed.slice(-1);
  if (!last) return undefined;
  const median = closed.map(({ us }) => us).toSorted((a, b) => a - b)[closed.length >> 1] ?? 0;
  const clipped = closed.map(({ atMs, us }) => ({ atMs, us: Math.min(us, STALL_FACTOR * median) }));
  const latest = open.length > 0 ? statistic(open.map(({ soloUs }) => soloUs)) : 0;
  const known = latest > last.us ? [...clipped, { atMs: nowMs, us: latest }] : clipped;
  const weighted = known.map(({ atMs, us }) => ({
    us: eachWindow ? Math.log(Math.max(1, us)) : us,
    weight: 0.5 ** ((nowMs - atMs) / HALF_LIFE_MS),
  }));
  const sumOf = (of: (us: number) => number) =>
    weighted.reduce((sum, { us, weight }) => sum + weight * of(us), 0);
  const weights = sumOf(() => 1);
  const mean = sumOf((us) => us) / weights;
  const prior = eachWindow ? variation : variation * mean;
  const squares = sumOf((us) => (us - mean) ** 2) + PRIOR_BLOCKS * prior ** 2;
  const deviation = Math.sqrt(squares / (weights + PRIOR_BLOCKS));
  if (!eachWindow) return mean + (Z_SURE * deviation) / Math.sqrt(weights);
  const scale = deviation / DEVIATION;
  const mode = mean - EULER * scale;
  const held = Math.exp(-Math.exp(-(Math.log(limitUs) - mode) / scale));
  if (held < 1 - MAX_BROKEN_ALONE) return Number.POSITIVE_INFINITY;
  return Math.exp(mode - scale * Math.log(-Math.log(held - ALLOWED_WINDOWS)));
}

/** How windows are judged. */
export interface Expected {
  /** Their deviation before it is known, as a part of their mean. */
  readonly variation: number;
  /** Nearly each of them must hold: so for a p99, whose windows have a few values that matter. Else all of them together. */
  readonly eachWindow: boolean;
  readonly statistic: (values: readonly number[]) => number;
}
