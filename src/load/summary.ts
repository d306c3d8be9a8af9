import { quantileOfSorted } from "#core";
import type { Quantiles, Served } from "./plan.ts";

const round = (us: number) => Math.round(us * 100) / 100;

function quantiles(samplesNs: readonly number[]): Quantiles & { max: number } {
  const sorted = Float64Array.from(samplesNs).sort();
  const count = sorted.length;
  const at = (q: number) => (count ? round(quantileOfSorted(sorted, q) / 1000) : 0);
  const total = sorted.reduce((sum, ns) => sum + ns, 0);
  return {
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    mean: round(count ? total / count / 1000 : 0),
    max: at(1),
  };
}

export function summarise(served: readonly Served[]) {
  const { max: _, ...service } = quantiles(served.map(({ start, done }) => done - start));
  const first = served[0];
  const last = served.at(-1);
  const seconds = first && last ? (last.done - first.arrival) / 1e9 : 0;
  return {
    requests: served.length,
    seconds: Math.round(seconds * 1e6) / 1e6,
    throughputPerS: seconds > 0 ? Math.round((served.length / seconds) * 1000) / 1000 : 0,
    latencyUs: quantiles(served.map(({ arrival, done }) => done - arrival)),
    serviceUs: service,
  };
}
