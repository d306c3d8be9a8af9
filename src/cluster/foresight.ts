// What schedulers know about pairs they have not seen run: a forecast learned from a profiling campaign. A sample is
// one pair at one share, measured with noise; the forecast sees profiles and never names. Ridge regression
// on how much of each side's speed is lost, which the products of both sides' appetites explain well.
import { Matrix, solve } from "ml-matrix";
import type { Chance } from "./chance.ts";
import type { Truth } from "./truth.ts";
import { aloneAt, smNeed, type Workload } from "./workload.ts";

/** While both sides are at work: retained throughputs, 0 to 1. */
export interface Foresight {
  online(online: Workload, offline: Workload, share: number): number;
  offline(online: Workload, offline: Workload, share: number): number;
}

export interface Sample {
  readonly online: Workload;
  readonly offline: Workload;
  readonly share: number;
  readonly onlineRetained: number;
  readonly offlineRetained: number;
}

/** MuxFlow, section 6: "about 2,000 data for each GPU type". */
export const CAMPAIGN_SAMPLES = 2_000;
/** A measurement of some minutes repeats to within this, relative. */
const MEASUREMENT_NOISE = 0.05;

/** Pairs and shares drawn at random and measured. */
export function campaign(
  truth: Truth,
  pairs: readonly (readonly [Workload, Workload])[],
  chance: Chance,
  samples = CAMPAIGN_SAMPLES,
): Sample[] {
  const noise = () => 1 + MEASUREMENT_NOISE * chance.normal();
  return Array.from({ length: pairs.length === 0 ? 0 : samples }, () => {
    const [online, offline] = pairs[Math.floor(chance.uniform() * pairs.length)] as readonly [
      Workload,
      Workload,
    ];
    const share = (1 + Math.floor(chance.uniform() * 10)) / 10;
    const exact = truth.together(online, offline, share);
    return {
      online,
      offline,
      share,
      onlineRetained: exact.online * noise(),
      offlineRetained: exact.offline * noise(),
    };
  });
}

/** Weight of the penalty on coefficients, per sample. */
const RIDGE = 1e-4;

export function learn(samples: readonly Sample[]): Foresight {
  const rows = samples.map(({ online, offline, share }) => features(online, offline, share));
  const onlineLoss = ridge(
    rows,
    samples.map(({ onlineRetained }) => 1 - onlineRetained),
  );
  const offlineLoss = ridge(
    rows,
    samples.map(
      ({ offline, share, offlineRetained }) => 1 - offlineRetained / aloneAt(offline, share),
    ),
  );
  return {
    online: (online, offline, share) => 1 - lossOf(onlineLoss, features(online, offline, share)),
    offline: (online, offline, share) =>
      aloneAt(offline, share) * (1 - lossOf(offlineLoss, features(online, offline, share))),
  };
}

const lossOf = (coefficients: readonly number[], row: readonly number[]): number => {
  const loss = row.reduce((sum, value, i) => sum + value * (coefficients[i] ?? 0), 0);
  return Math.min(0.95, Math.max(0, loss));
};

/** Products of what both want, and each with the share, since what is not given can't be taken. */
function features(online: Workload, offline: Workload, share: number): number[] {
  const want = smNeed(offline);
  const reach = Math.min(share, want);
  const overlap = Math.max(0, smNeed(online) + reach - 1);
  const both = [
    1,
    overlap,
    online.busy,
    offline.busy,
    online.busy * offline.busy,
    online.memoryBusy * offline.memoryBusy,
    smNeed(online) * want,
    online.busy * want,
    smNeed(online) * offline.busy,
  ];
  return [
    ...both,
    ...both.map((value) => value * share),
    ...both.map((value) => value * share * share),
  ];
}

function ridge(rows: readonly number[][], targets: readonly number[]): number[] {
  if (rows.length === 0) return [];
  const design = new Matrix(rows as number[][]);
  const gram = design.transpose().mmul(design);
  for (let i = 0; i < gram.rows; i++) gram.set(i, i, gram.get(i, i) + RIDGE * rows.length);
  const moments = design.transpose().mmul(Matrix.columnVector([...targets]));
  return solve(gram, moments).to1DArray();
}
