// Forecasts for pairs that schedulers have not seen run, learned from a profiling campaign. A sample is one pair at
// one share, measured with noise. The forecast uses profiles and never names. Its learner is one of src/predict,
// which `cotenant-lab predict` trains too. A side's throughput is divided by its throughput alone on its own share of
// the SMs, which its profile tells. So only the cost of the group is learned.
import {
  type Colocation,
  type Features,
  type LearnerName,
  learners,
  type Predictor,
} from "#predict";
import type { RandomStream } from "./random-stream.ts";
import type { Truth } from "./truth.ts";
import { aloneAt, smNeed, type Workload } from "./workload.ts";

/** Retained throughputs while both sides work, 0 to 1. */
export interface Predictions {
  online(online: Workload, offline: Workload, share: number): number;
  offline(online: Workload, offline: Workload, share: number): number;
  /** Retained throughput of an offline workload beside another one that may use `share` of the SMs. */
  beside(one: Workload, other: Workload, share: number): number;
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
/** Two measurements of some minutes differ by about this, relative. */
const MEASUREMENT_NOISE = 0.05;

/** Draws pairs and shares at random and measures them. */
export function campaign(
  truth: Truth,
  pairs: readonly (readonly [Workload, Workload])[],
  random: RandomStream,
  samples = CAMPAIGN_SAMPLES,
): Sample[] {
  const noise = () => 1 + MEASUREMENT_NOISE * random.normal();
  return Array.from({ length: pairs.length === 0 ? 0 : samples }, () => {
    const [online, offline] = pairs[Math.floor(random.uniform() * pairs.length)] as readonly [
      Workload,
      Workload,
    ];
    const share = (1 + Math.floor(random.uniform() * 10)) / 10;
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

/** Retained throughputs of two offline workloads. The second may use `share` of the SMs. */
export interface OfflineSample {
  readonly pair: readonly [Workload, Workload];
  readonly share: number;
  readonly retained: readonly [number, number];
}

/** There are fewer kinds of such pairs, so fewer samples are enough. */
const OFFLINE_SAMPLES = 500;

export function offlineCampaign(
  truth: Truth,
  pairs: readonly (readonly [Workload, Workload])[],
  random: RandomStream,
): OfflineSample[] {
  const noise = () => 1 + MEASUREMENT_NOISE * random.normal();
  return Array.from({ length: pairs.length === 0 ? 0 : OFFLINE_SAMPLES }, () => {
    const pair = pairs[Math.floor(random.uniform() * pairs.length)] as readonly [
      Workload,
      Workload,
    ];
    const share = (1 + Math.floor(random.uniform() * 10)) / 10;
    const [one, other] = pair;
    const retained = [
      truth.beside(one, other, share) * noise(),
      truth.beside(other, one, 1) * noise(),
    ] as const;
    return { pair, share, retained };
  });
}

const metrics = ["smBusy", "memoryBusy", "memoryGB", "smsFilled"] as const;

/** As many as MuxFlow's network trains on 2,000 samples. KACE's 400 would take minutes for each simulated day. */
const EPOCHS = 150;
const FOREST_TESTS = 3;

/** With fewer rows nothing can be learned. Then no workload is predicted to slow another. */
const MIN_ROWS = 4;

export function learn(
  samples: readonly Sample[],
  learner: LearnerName = "ours",
  offlinePairs: readonly OfflineSample[] = [],
): Predictions {
  const predictor = trainPredictor(averageRows(samples.map(rowOf)), learner);
  const among = trainPredictor(averageRows(offlinePairs.map(offlineRowOf)), learner);
  const online = withCache(
    (one, other, share) =>
      predictor.predict(featuresOf(one), [featuresOf(other)], { target: 1, others: [share] })
        .retained,
  );
  const offline = withCache(
    (one, other, share) =>
      aloneAt(other, share) *
      predictor.predict(featuresOf(other), [featuresOf(one)], { target: share, others: [1] })
        .retained,
  );
  const beside = withCache(
    (one, other, share) =>
      among.predict(featuresOf(one), [featuresOf(other)], { target: 1, others: [share] }).retained,
  );
  return {
    beside: (...pair) => Math.min(1, beside(...pair)),
    online: (...pair) => Math.min(1, Math.max(MIN_PREDICTED, online(...pair))),
    offline: (...pair) => Math.min(aloneAt(pair[1], pair[2]), offline(...pair)),
  };
}

const MIN_PREDICTED = 0.05;

const nothingCosts: Predictor = {
  predict: () => ({ retained: 1, uncertainty: 0, low: 1, high: 1, familiar: false }),
};

function trainPredictor(rows: readonly Colocation[], learner: LearnerName): Predictor {
  if (rows.length < MIN_ROWS) return nothingCosts;
  // The training may not depend on how fast the machine is, so it gets a counter instead of a clock.
  let readings = 0;
  const training = { seed: 0, forestTests: FOREST_TESTS, epochs: EPOCHS, now: () => readings++ };
  const { train, open } = learners[learner];
  return open(train(rows, metrics, training), metrics);
}

const known = new WeakMap<Workload, Features>();
function featuresOf(workload: Workload): Features {
  const before = known.get(workload);
  if (before) return before;
  const features = {
    smBusy: 100 * workload.busy,
    memoryBusy: 100 * workload.memoryBusy,
    memoryGB: workload.memoryGB,
    smsFilled: smNeed(workload),
  };
  known.set(workload, features);
  return features;
}

interface Row {
  readonly pair: readonly [Workload, Workload];
  /** The share of the second workload. The first may use all SMs. */
  readonly share: number;
  /** Retained throughputs, relative to each one's throughput alone on its share. */
  readonly kept: readonly [number, number];
}

const rowOf = ({ online, offline, share, onlineRetained, offlineRetained }: Sample): Row => {
  const alone = aloneAt(offline, share);
  return {
    pair: [online, offline],
    share,
    kept: [onlineRetained, alone > 0 ? offlineRetained / alone : 0],
  };
};

const offlineRowOf = ({ pair, share, retained }: OfflineSample): Row => ({
  pair,
  share,
  kept: retained,
});

/** Replaces the rows of one pair at one share by their mean. The rows of a pair follow each other in the result. */
function averageRows(rows: readonly Row[]): Colocation[] {
  const pairs = new Map<Workload, Map<Workload, Map<number, Row[]>>>();
  for (const row of rows) {
    const [one, other] = row.pair;
    const beside = pairs.get(one) ?? new Map<Workload, Map<number, Row[]>>();
    const shares = beside.get(other) ?? new Map<number, Row[]>();
    pairs.set(one, beside.set(other, shares));
    shares.set(row.share, [...(shares.get(row.share) ?? []), row]);
  }
  return [...pairs].flatMap(([one, beside]) =>
    [...beside].flatMap(([other, shares]) =>
      [...shares].map(([share, all]) => {
        const mean = (of: (row: Row) => number) =>
          Math.max(0, all.reduce((sum, row) => sum + of(row), 0) / all.length);
        return {
          sides: [
            { features: featuresOf(one), retained: mean(({ kept }) => kept[0]), smShare: 1 },
            { features: featuresOf(other), retained: mean(({ kept }) => kept[1]), smShare: share },
          ],
        };
      }),
    ),
  );
}

/** Caches answers, because schedulers ask for the same few pairs and shares again and again. */
function withCache(of: Predictions["online"]): Predictions["online"] {
  const answers = new Map<Workload, Map<Workload, Map<number, number>>>();
  return (online, offline, share) => {
    const beside = answers.get(online) ?? new Map<Workload, Map<number, number>>();
    const shares = beside.get(offline) ?? new Map<number, number>();
    const before = shares.get(share);
    if (before !== undefined) return before;
    const answer = of(online, offline, share);
    shares.set(share, answer);
    answers.set(online, beside.set(offline, shares));
    return answer;
  };
}
