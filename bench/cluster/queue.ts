// How near the simulator's p99 of a queue of requests is to that queue simulated request by request:
// `npx tsx bench/cluster/queue.ts OUT.json`. M/G/1 with lognormal service times of mean 1, by Lindley's recursion.
import { responseQuantiles } from "#cluster";
import { mulberry32 } from "#core";
import { writeUntimed } from "../untimed.ts";

const [out] = process.argv.slice(2);

const CASES = [
  { cv: 1, load: 0.85 },
  { cv: 2, load: 0.5 },
  { cv: 2, load: 0.85 },
  { cv: 2, load: 0.93 },
] as const;
const RUNS = 8;
const REQUESTS = 10_000_000;
/** As many requests as a service of 14 a second has in eight hours. */
const SHORT = 400_000;

/** A bin is 1 % of a mean service time wide. The last holds all that is longer. */
const BINS = 100_000;
const PER_SERVICE = 100;

/** The p99 of the response time in mean service times: of the whole run, and of each part of SHORT requests. */
function simulated(cv: number, load: number, seed: number) {
  const random = mulberry32(seed);
  const variance = Math.log(1 + cv * cv);
  const sigma = Math.sqrt(variance);
  const all = new Float64Array(BINS);
  const part = new Float64Array(BINS);
  const short: number[] = [];
  let wait = 0;
  for (let i = 1; i <= REQUESTS; i++) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const response = wait + Math.exp(sigma * normal - variance / 2);
    const bin = Math.min(BINS - 1, Math.floor(response * PER_SERVICE));
    all[bin] = (all[bin] ?? 0) + 1;
    part[bin] = (part[bin] ?? 0) + 1;
    wait = Math.max(0, response + Math.log(1 - random()) / load);
    if (i % SHORT !== 0) continue;
    short.push(p99Of(part, SHORT));
    part.fill(0);
  }
  return { whole: p99Of(all, REQUESTS), short };
}

function p99Of(counts: Float64Array, requests: number): number {
  let below = 0;
  const bin = counts.findIndex((count) => {
    below += count;
    return below >= 0.99 * requests;
  });
  return (bin + 0.5) / PER_SERVICE;
}

const round = (value: number) => Number(value.toPrecision(5));
const cases = CASES.map(({ cv, load }) => {
  const [computed = Number.NaN] = responseQuantiles(load, cv, [0.99]);
  const runs = Array.from({ length: RUNS }, (_, seed) => simulated(cv, load, seed + 1));
  const whole = runs.map((run) => run.whole);
  const short = runs.flatMap((run) => run.short).sort((a, b) => a - b);
  const mean = whole.reduce((sum, one) => sum + one, 0) / RUNS;
  const deviation = short.reduce((sum, one) => sum + (one / computed - 1) ** 2, 0) / short.length;
  const result = {
    cv,
    load,
    computed: round(computed),
    simulated: { mean: round(mean), least: Math.min(...whole), most: Math.max(...whole) },
    off: round(computed / mean - 1),
    shortRuns: {
      runs: short.length,
      least: short[0],
      most: short.at(-1),
      deviation: round(Math.sqrt(deviation)),
    },
  };
  console.log(JSON.stringify(result));
  return result;
});
writeUntimed(out, "cluster-queue", "npx tsx bench/cluster/queue.ts OUT.json", {
  ...{ requests: REQUESTS, runs: RUNS, shortRun: SHORT, cases },
});
