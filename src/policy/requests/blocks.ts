// Users judge windows of ten seconds. Their extremes follow a Gumbel distribution (Gumbel,
// Statistics of Extremes, 1958), so it is known which part a longer time would break.

interface Block {
  readonly atMs: number;
  readonly us: number;
}

interface Value {
  readonly us: number;
  readonly soloUs: number; // slices added nothing to it
}

export interface Blocks {
  readonly closed: readonly Block[];
  readonly warm: boolean; // an engine compiles in the first windows
  readonly open: readonly Value[];
  readonly sinceMs: number;
  /**
   * It grows for each window that only slices broke, and falls for each that held (adaptive
   * conformal inference, Gibbs and Candes 2021).
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
const REGIME_BLOCKS = 3;
const REGIME_FACTOR = 1.2;
const WARM_UP_BLOCKS = 2; // they are forgotten
const ENOUGH_BLOCKS = 4;
const HALF_LIFE_MS = 120_000;
const STALL_FACTOR = 2.5;
const ALLOWED_WINDOWS = 0.01;
const MAX_BROKEN_ALONE = 0.03;
const MAX_LOST = 0.25;
const CLEARLY = 1.5;
const CAUTION_STEP = 1.3;
const PRIOR_BLOCKS = 3;
const Z_SURE = 1.645; // the confidence is 95 %
/** A Gumbel distribution's mean is its mode plus EULER scales. */
const EULER = 0.5772;
const DEVIATION = Math.PI / Math.sqrt(6);

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
  // A queue in the engine grows by slices.
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

/** Returns when the windows ended that break the limit without slices, so that these cost nothing there. */
export const lostIn = ({ closed }: Blocks, limitUs: number): readonly number[] =>
  closed.filter(({ us }) => us > limitUs).map(({ atMs }) => atMs);

/** Returns the longest solo window but for those lost. Infinity: the engine alone leaves no room. */
export function extremeOf(
  { closed, open }: Blocks,
  limitUs: number,
  nowMs: number,
  { variation, eachWindow, statistic, lost }: Expected & { readonly lost: ReadonlySet<number> },
): number | undefined {
  const [last] = closed.slice(-1);
  if (!last) return undefined;
  const others = eachWindow ? closed.filter(({ atMs }) => !lost.has(atMs)) : closed;
  if (closed.length - others.length > MAX_LOST * closed.length) return Number.POSITIVE_INFINITY;
  const median = others.map(({ us }) => us).toSorted((a, b) => a - b)[others.length >> 1] ?? 0;
  const clipped = others.map(({ atMs, us }) => ({ atMs, us: Math.min(us, STALL_FACTOR * median) }));
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

export interface Expected {
  readonly variation: number;
  readonly eachWindow: boolean; // a p99 has few values in a window, and each matters
  readonly statistic: (values: readonly number[]) => number;
}
