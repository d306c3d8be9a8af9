export interface Ratios {
  of(beside: string): number;
  readonly most: number;
}

export const NEVER_MEASURED: Ratios = { of: () => 1, most: 1 };

const MAX_RATIO = 20;

/**
 * An error depends as much on the workload as on the pair, so the mean logarithm of n services that
 * were tried counts n
 *
 * (n + 1) elsewhere: Bühlmann's credibility (1967) for equal variances.
 */
export function ratiosOf(
  tried: Iterable<readonly [beside: string, measured: number, forecast: number]>,
): Ratios {
  const known = new Map<string, number>();
  let sum = 0;
  for (const [beside, measured, forecast] of tried) {
    const ratio = Math.min(MAX_RATIO, Math.max(1 / MAX_RATIO, measured / Math.max(0.01, forecast)));
    known.set(beside, ratio);
    sum += Math.log(ratio);
  }
  const elsewhere = Math.exp(sum / (known.size + 1));
  return {
    of: (beside) => known.get(beside) ?? elsewhere,
    most: Math.max(elsewhere, ...known.values()),
  };
}

interface Measured {
  readonly retained: number;
  /** They are its predicted parts, before any correction. */
  readonly parts: { readonly beside: number; readonly alone: number };
}

export interface Learned {
  /** Each `source`, such as a start of a job, counts once, with its latest measurement. */
  observe(source: string, pair: string, measured: Measured): void;
  /** It is measured, divided by predicted; 1 where nothing is known. */
  ratio(pair: string): number;
}

/** A forecast has the weight of this many observations. */
const TRUST = 5;
const TRUSTED_BESIDE = 0.5;
const MAX_REMEMBERED = 20_000;

interface Sums {
  readonly xx: number;
  readonly xy: number;
}

/**
 * A measurement beside a hardly active service says little of what is retained beside requests, so
 * the ratio is a least-squares fit. Corrected predictions would teach that nothing is wrong.
 */
export function learning(): Learned {
  const bySource = new Map<string, readonly [pair: string, sums: Sums]>();
  const all = new Map<string, Sums>();
  const add = (pair: string, { xx, xy }: Sums, sign: 1 | -1) => {
    const now = all.get(pair) ?? { xx: 0, xy: 0 };
    all.set(pair, { xx: now.xx + sign * xx, xy: now.xy + sign * xy });
  };
  const forget = (source: string) => {
    const before = bySource.get(source);
    if (before) add(...before, -1);
    bySource.delete(source);
  };
  return {
    observe(source, pair, { retained, parts: { beside, alone } }) {
      const sums = { xx: beside * beside, xy: beside * (retained - alone) };
      if (!Number.isFinite(sums.xx + sums.xy)) return;
      forget(source);
      bySource.set(source, [pair, sums]);
      add(pair, sums, 1);
      const [oldest] = bySource.keys();
      if (bySource.size > MAX_REMEMBERED && oldest !== undefined) forget(oldest);
    },
    ratio(pair) {
      const { xx, xy } = all.get(pair) ?? { xx: 0, xy: 0 };
      const trusted = TRUST * TRUSTED_BESIDE ** 2;
      return Math.max(0, (xy + trusted) / (xx + trusted));
    },
  };
}
