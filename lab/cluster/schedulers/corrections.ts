// Corrects a forecast by observations: it compares, for each pair of workloads, what was observed with what was
// predicted.
import type { Predictions } from "../model/predictions.ts";
import type { Workload } from "../model/workload.ts";

export interface Corrections {
  /** Grows whenever the corrections changed noticeably. */
  readonly version: number;
  observe(online: Workload, offline: Workload, seen: Observation): void;
  /** The forecast, corrected. */
  applied(predictions: Predictions): Predictions;
}

interface Observation {
  /** Observed offline throughput, divided by the predicted one. */
  readonly offline: number;
  /** The loss of speed of the online side: predicted, and observed. */
  readonly onlineLoss: readonly [number, number];
}

/** A forecast has the weight of this many observations, so fewer observations change it little. */
const TRUST = 5;
/** Smaller losses are noise, and the ratio of two of them means nothing. */
const MIN_LOSS = 0.02;
/** A pair's shares are computed again after this many observations, then after twice as many, and so on. */
const FIRST_REVIEW = 8;

interface Pair {
  count: number;
  offline: number;
  predictedLoss: number;
  lossSeen: number;
}

export function corrections(): Corrections {
  const pairs = new Map<string, Pair>();
  let version = 0;
  const key = (online: Workload, offline: Workload): string => `${online.name}\n${offline.name}`;
  return {
    get version() {
      return version;
    },
    observe(online, offline, { offline: ratio, onlineLoss: [predictedLoss, lossSeen] }) {
      if (!Number.isFinite(ratio)) return;
      const name = key(online, offline);
      const pair = pairs.get(name) ?? { count: 0, offline: 0, predictedLoss: 0, lossSeen: 0 };
      pairs.set(name, pair);
      pair.count++;
      pair.offline += ratio;
      pair.predictedLoss += predictedLoss;
      pair.lossSeen += lossSeen;
      if (pair.count >= FIRST_REVIEW && Number.isInteger(Math.log2(pair.count))) version++;
    },
    applied: (predictions) => ({
      ...predictions,
      online(online, offline, share) {
        const loss = 1 - predictions.online(online, offline, share);
        const pair = pairs.get(key(online, offline));
        if (!pair) return 1 - loss;
        const prior = TRUST * Math.max(MIN_LOSS, loss);
        const factor =
          (pair.lossSeen + prior) / (Math.max(pair.predictedLoss, MIN_LOSS * pair.count) + prior);
        return 1 - Math.min(0.95, Math.max(0, Math.max(loss, MIN_LOSS * share) * factor));
      },
      offline(online, offline, share) {
        const retained = predictions.offline(online, offline, share);
        const pair = pairs.get(key(online, offline));
        return pair ? (retained * (pair.offline + TRUST)) / (pair.count + TRUST) : retained;
      },
    }),
  };
}
