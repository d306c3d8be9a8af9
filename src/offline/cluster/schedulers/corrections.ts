// A forecast corrected by what was seen: of each pair of workloads, how its observations compared with the forecast.
import type { Predictions } from "../predictions.ts";
import type { Workload } from "../workload.ts";

export interface Corrections {
  /** Grows whenever the corrections changed noticeably. */
  readonly version: number;
  observe(online: Workload, offline: Workload, seen: Seen): void;
  /** The forecast, corrected. */
  applied(predictions: Predictions): Predictions;
}

interface Seen {
  /** Offline throughput observed / predicted. */
  readonly offline: number;
  /** What the online side was predicted to lose of its speed, and what it lost. */
  readonly onlineLoss: readonly [number, number];
}

/** Observations that a forecast is worth: fewer move it little. */
const TRUST = 5;
/** Losses below this are noise: one can't be told from another by their ratio. */
const LEAST_LOSS = 0.02;
/** Observations of a pair after which its shares are reckoned anew, doubling each time. */
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
        const prior = TRUST * Math.max(LEAST_LOSS, loss);
        const factor =
          (pair.lossSeen + prior) / (Math.max(pair.predictedLoss, LEAST_LOSS * pair.count) + prior);
        return 1 - Math.min(0.95, Math.max(0, Math.max(loss, LEAST_LOSS * share) * factor));
      },
      offline(online, offline, share) {
        const retained = predictions.offline(online, offline, share);
        const pair = pairs.get(key(online, offline));
        return pair ? (retained * (pair.offline + TRUST)) / (pair.count + TRUST) : retained;
      },
    }),
  };
}
