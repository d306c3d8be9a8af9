// Latency and throughput over time, in bins, from the times that `cotenant-lab bench --raw` keeps.

import { quantile } from "#core";
import { rate } from "#measure";

/** One arrangement's window; ns since it began. */
export interface RawWindow {
  readonly seconds: number;
  readonly arrivalNs: readonly number[];
  readonly latencyNs: readonly number[];
  readonly doneNs: readonly (readonly number[])[];
}

/** One stretch of time. Latencies are arrival to done, of the requests that arrived in it; null: none did. */
export interface Bin {
  readonly fromS: number;
  readonly requests: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Best-effort iterations a second, to `base`; null where no best-effort job took part. */
  readonly kept: number | null;
}

/** `base`: iterations a second without the high job. What is left at the end is no bin. */
export function binned(window: RawWindow, binS: number, base: number): Bin[] {
  const { seconds, arrivalNs, latencyNs, doneNs } = window;
  const [job] = doneNs;
  return Array.from({ length: Math.floor(seconds / binS + 1e-9) }, (_, i) => {
    const [from, to] = [i * binS * 1e9, (i + 1) * binS * 1e9];
    const inside = latencyNs.filter((_, n) => {
      const arrival = arrivalNs[n] ?? Number.NaN;
      return arrival >= from && arrival < to;
    });
    const at = (q: number) => (inside.length === 0 ? null : quantile(inside, q) / 1e6);
    return {
      fromS: i * binS,
      requests: inside.length,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      kept: job === undefined || job.length === 0 ? null : rate(job, from, to) / base,
    };
  });
}

/** Iterations a second of the first best-effort job over a whole window. */
export const iterationsPerS = ({ doneNs: [job = []], seconds }: RawWindow): number =>
  rate(job, 0, seconds * 1e9);
