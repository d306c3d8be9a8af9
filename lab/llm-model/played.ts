// An engine beside best-effort work, by the policy `cotenant` or with a fixed share of the time, look by look.
import { medianBySum, millis, quantile } from "#core";
import {
  inDecodeSteps,
  type LimitsUs,
  type Observed,
  PolicyLoop,
  policyNamed,
  type RequestKind,
  type RequestQuantile,
  requestLimits,
  timeShare,
} from "#policy";
import { bucketCount, bucketOf, type Rules } from "#protocol";
import type { Share } from "./best.ts";
import { EnginePlant, type Served, type Shape, type Traffic } from "./engine.ts";
import { Reader, reportedSince } from "./reader.ts";

const LOOK_MS = 250;
const strict = policyNamed("strict");

export interface Run {
  readonly shape: Shape;
  readonly traffic: Traffic;
  readonly seconds: number;
  readonly seed: number;
  readonly limits: LimitsUs;
  /** The statistic that is limited; the p99 if left out. */
  readonly quantile?: RequestQuantile;
  /** In force throughout; undefined: by the policy. "alone": no best-effort work. */
  readonly fixed?: Share | "strict" | "alone";
  readonly costs?: number;
  readonly isolated?: boolean;
  /** The program reports each request itself, so no histogram is read. */
  readonly tellsItself?: boolean;
  /** Events of the engine at a sample. */
  readonly events?: (plant: EnginePlant, atS: number) => void;
}

interface Look {
  readonly at: number;
  /** Percent of the time that the policy gives beside requests. */
  readonly level: number;
  readonly kept: number;
  readonly batch: number;
  readonly state: string | undefined;
  /** The kind with the least headroom, as far as the policy knows. */
  readonly tightest: RequestKind | undefined;
}

export interface Outcome {
  readonly looks: readonly Look[];
  readonly served: readonly Served[];
}

/** Times of the engine's requests, in us. */
export function played(run: Run): Outcome {
  const { shape, traffic, seconds, seed, limits, fixed, costs = 1, isolated = true, events } = run;
  const { tellsItself = false } = run;
  const requests = requestLimits(limits, run.quantile);
  const plant = new EnginePlant(shape, traffic, seed, costs);
  const reader = new Reader();
  const looks: Look[] = [];
  const loop = new PolicyLoop(policyNamed("cotenant"));
  let kept = 0;
  for (let at = LOOK_MS; at <= seconds * 1000; at += LOOK_MS) {
    events?.(plant, at / 1000);
    // Most bursts of a step are short ones (docs/results/engine.md).
    const lasted = plant.steps(Number.NEGATIVE_INFINITY).map(({ us }) => us);
    const burstByTimeUs =
      lasted.length > 0 ? medianBySum(lasted.toSorted((a, b) => a - b)) : undefined;
    const { rareBursts } = plant;
    const seen = {
      name: "engine",
      burstP50Us: 44,
      burstByTimeUs,
      rareBursts,
    };
    const observed = { isolated, high: [seen] };
    const inForce = fixed === undefined ? loop.rules(observed) : fixedRules(fixed, observed);
    plant.run(at, inForce, fixed !== "alone");
    const ended = new Uint32Array(bucketCount);
    const steps = plant.steps(at - LOOK_MS);
    for (const { us } of steps) {
      const bucket = bucketOf(1e3 * us);
      ended[bucket] = (ended[bucket] ?? 0) + 1;
    }
    const level = loop.memory?.level ?? 0;
    if (fixed === undefined)
      loop.remember(() => ({
        isolated,
        nowMs: millis(at),
        colocated: true,
        high: [
          {
            id: "engine",
            ...seen,
            objective: { p99Us: undefined, slowdown: undefined, requests },
            ended,
            steps,
            requests: tellsItself ? reportedSince(plant, limits) : reader.look(plant, requests),
          },
        ],
      }));
    const engine = loop.memory?.clients.get("engine");
    looks.push({
      at: at / 1000,
      level,
      kept: (plant.kept - kept) / LOOK_MS,
      batch: plant.batch,
      state: engine?.state,
      tightest: engine?.tightest,
    });
    kept = plant.kept;
  }
  return { looks, served: plant.served };
}

function fixedRules(fixed: Share | "strict" | "alone", observed: Observed): Rules {
  const base = strict.rules(observed);
  if (typeof fixed === "string") return base;
  const share = timeShare(fixed.share, observed.isolated);
  const stepUs = observed.high[0]?.burstByTimeUs ?? 0;
  return {
    ...base,
    ...share,
    ...(fixed.endsInPrompts && inDecodeSteps(stepUs, share.coRunSliceUs, observed.high)),
  };
}

const WINDOW_MS = 10_000;

/** Windows of 10 s, by arrival, and those in which the p99 of a kind is above its limit. */
export function windowsOf(
  { served }: Outcome,
  limits: LimitsUs,
  fromS: number,
  toS: number,
): { readonly windows: number; readonly broken: number } {
  let [windows, broken] = [0, 0];
  for (let from = fromS * 1000; from + WINDOW_MS <= toS * 1000; from += WINDOW_MS) {
    const own = served.filter(({ arrivedMs }) => arrivedMs >= from && arrivedMs < from + WINDOW_MS);
    if (own.length === 0) continue;
    windows++;
    const isLate = (["ttft", "tpot", "e2e"] as const).some(
      (kind) =>
        1000 *
          quantile(
            own.map((one) => one[kind]),
            0.99,
          ) >
        (limits[kind] ?? Number.POSITIVE_INFINITY),
    );
    if (isLate) broken++;
  }
  return { windows, broken };
}

/** The part of the windows that is broken. */
export function violated(outcome: Outcome, limits: LimitsUs, fromS: number, toS: number) {
  const { windows, broken } = windowsOf(outcome, limits, fromS, toS);
  return windows === 0 ? 0 : broken / windows;
}

export const keptIn = ({ looks }: Outcome, fromS = 0, toS = Number.POSITIVE_INFINITY): number => {
  const own = looks.filter(({ at }) => at > fromS && at <= toS);
  return own.reduce((sum, { kept }) => sum + kept, 0) / own.length;
};
