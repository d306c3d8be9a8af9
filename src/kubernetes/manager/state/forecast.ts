// Expected retained throughput of a best-effort pod on a GPU, and the share of the SMs at which it is expected: by a
// predictor where both the pod and the service have a profile of that GPU, else by what was learned from this cluster's
// pairs, and before enough were measured by the turn bound.
import {
  bestOffer,
  complementShare,
  DEFAULT_LIMITS,
  type Learned,
  type Offer,
  type PairForecast,
  responseGrowth,
  worthOf,
} from "#place";
import { type Features, isMetric, type Predictor } from "#predict";
import { PROFILE_ANNOTATION } from "../../labels/names.ts";
import type { Forecast, Pairing, Pod, WorkloadProfile } from "./objects.ts";

/** The metrics of a pod's profile, and what forecasts of equal pods share: the profile's name and version. */
export interface Profiled {
  readonly key: string;
  readonly gpu: string;
  readonly features: Features;
}

/** Names of workloads, as Pairings have them. */
export interface PairWorkloads {
  readonly service: string;
  readonly job: string;
}

/** A learned forecast of one job beside one service. */
export interface LearnedForecast {
  readonly retained: number;
  /** Slowdown factor of the service's requests without queueing, with its upper bound; undefined while the prior decides. */
  readonly slowdown: { readonly value: number; readonly high: number } | undefined;
  /** The source of `retained`, or of `slowdown` while the prior decides about that. */
  readonly from: "rule" | "model";
  /** Pairs of workloads that were learned from. */
  readonly pairs: number;
}

/** Forecasts of the last training. */
export interface LearnedForecasts {
  /** Differs for jobs of which something else is forecast; "" for all of which nothing is known. */
  kindOf(workload: string): string;
  /** undefined while the prior decides about both figures. `load`: active share of the service, 0 to 1. */
  of(pair: PairWorkloads, model: string, load: number): LearnedForecast | undefined;
  /** Whether the pair itself was measured. */
  isMeasured(pair: PairWorkloads, model: string): boolean;
}

/** Key of learned ratios. */
const pairKey = (service: Profiled, job: Profiled): string => `${service.key}\n${job.key}`;

export interface Forecasts {
  /** The profile that a pod names; undefined if it names none, or one that is not there. */
  profileOf(pod: Pod): Profiled | undefined;
  /**
   * `model` of the GPU; `activeShare` of its service; `others`: how many best-effort pods are there already. Without `names`
   * nothing is taken that was learned.
   */
  of(
    service: Profiled | undefined,
    job: Profiled | undefined,
    gpu: ForecastGpu,
    others: number,
    names?: PairWorkloads,
  ): SharedForecast;
  /** Equal for workloads without a profile of which the same is forecast. */
  kindOf(workload: string): string;
  /** Whether the pair of these workloads was measured; undefined while nothing was learned. */
  isMeasured(names: PairWorkloads, model: string): boolean | undefined;
}

interface ForecastGpu {
  readonly model: string;
  readonly activeShare: number;
}

/** The forecast of a pod with the share of the SMs that all pods of the GPU get together. */
interface SharedForecast extends Forecast {
  /** 0 to 1. */
  readonly share: number;
  /** Weight in the matching. */
  readonly worth: number;
}

/** Forecast of a pair by both profiles. */
interface SharingForecast extends PairForecast {
  /** Whether it differs by the share. */
  readonly knowsShares: boolean;
}

/** undefined where nothing can be forecast. */
export type PairForecasts = (service: Features, job: Features) => SharingForecast | undefined;

/**
 * Forecasts from the profiles that are there. `learned`: the errors that pairings have shown. `mostSlowdown`: of the
 * SharingPolicy. `learner`: of what this cluster's pairs have shown.
 */
export function forecasts(
  pairs: PairForecasts | undefined,
  profiles: Iterable<WorkloadProfile>,
  learned: Learned,
  mostSlowdown = DEFAULT_LIMITS.mostSlowdown,
  learner?: LearnedForecasts,
): Forecasts {
  const byName = new Map<string, Profiled>();
  for (const profile of profiles) {
    const { namespace, name, resourceVersion } = profile.metadata;
    const metrics = Object.entries(profile.spec.metrics).filter(([metric]) => isMetric(metric));
    byName.set(`${namespace}/${name}`, {
      key: `${namespace}/${name}@${resourceVersion}`,
      gpu: profile.spec.gpu,
      features: Object.fromEntries(metrics),
    });
  }
  const known = new Map<string, Pair | undefined>();
  const pairOf = (service: Profiled, job: Profiled) => {
    const key = pairKey(service, job);
    const ratio = learned.ratio(key);
    const before = known.get(key);
    if (known.has(key) && (before === undefined || before.ratio === ratio)) return before;
    const forecast = before?.forecast ?? pairs?.(service.features, job.features);
    const pair = forecast && { forecast, ratio, offers: new Map<number, Offer>() };
    known.set(key, pair);
    return pair;
  };
  const offerOf = ({ forecast, ratio, offers }: Pair, activeShare: number): Offer => {
    const before = offers.get(activeShare);
    if (before) return before;
    const offer = bestOffer(forecast, activeShare, mostSlowdown, ratio);
    offers.set(activeShare, offer);
    return offer;
  };
  return {
    profileOf({ metadata: { namespace, annotations } }) {
      const name = annotations?.[PROFILE_ANNOTATION];
      return name === undefined ? undefined : byName.get(`${namespace}/${name}`);
    },
    kindOf: (workload) => learner?.kindOf(workload) ?? "",
    isMeasured: (names, model) => learner?.isMeasured(names, model),
    of(service, job, { model, activeShare }, others, names) {
      const here = service?.gpu === model && job?.gpu === model;
      const pair = here ? pairOf(service, job) : undefined;
      const part = 1 / (others + 1);
      const own = pair === undefined && names ? learner?.of(names, model, activeShare) : undefined;
      if (own) return learnedOn(own, activeShare, part);
      if (pair === undefined) {
        const retained = (1 - activeShare) * part;
        return { retained, worth: retained, share: complementShare(activeShare), from: "turns" };
      }
      const { retained, worth, slowdown, parts, ...best } = offerOf(pair, activeShare);
      const share = pair.forecast.knowsShares ? best.share : complementShare(activeShare);
      return {
        ...{ retained: retained * part, worth: worth * part, share, slowdown, from: "profiles" },
        parts: { beside: parts.beside * part, alone: parts.alone * part },
      };
    },
  };
}

/** Measured pods had the share that the turn bound left them, so a learned forecast is for that share. */
function learnedOn(
  { from, pairs, slowdown, ...forecast }: LearnedForecast,
  activeShare: number,
  part: number,
): SharedForecast {
  const retained = forecast.retained * part;
  const grown = (factor: number) => Math.max(1, responseGrowth(activeShare, 1 / factor));
  const slowed = slowdown && {
    slowdown: grown(slowdown.value),
    slowdownHigh: grown(slowdown.high),
  };
  return {
    ...{ from, pairs, retained, ...slowed, share: complementShare(activeShare) },
    worth: worthOf(retained, activeShare, slowed?.slowdown ?? 1),
  };
}

/** Forecasts of a predictor; undefined where it wants a metric that a profile lacks. */
export const pairsBy =
  (predictor: Predictor): PairForecasts =>
  (service, job) => {
    try {
      return pairBy(predictor, service, job);
    } catch {
      return undefined;
    }
  };

/**
 * A predictor that has learned of pods with all SMs only, or does not know these pods, can't tell what a share does: then its
 * answers are the same for all shares. A share limits nothing while no request is served
 * (docs/design/decisions/0028-a-share-is-an-upper-bound.md).
 */
function pairBy(predictor: Predictor, service: Features, job: Features): SharingForecast {
  const served = (share: number) =>
    predictor.predict(service, [job], { target: 1, others: [share] });
  const beside = (share: number) =>
    predictor.predict(job, [service], { target: share, others: [1] });
  const alone = () => 1;
  if (served(ANY_SHARE).familiar && beside(ANY_SHARE).familiar)
    return {
      ...{ alone, knowsShares: true },
      served: (share) => served(share).retained,
      beside: (share) => beside(share).retained,
    };
  const whole = {
    served: predictor.predict(service, [job]).retained,
    beside: predictor.predict(job, [service]).retained,
  };
  return {
    ...{ alone, knowsShares: false },
    served: () => whole.served,
    beside: () => whole.beside,
  };
}

/** A share that is none of all SMs. */
const ANY_SHARE = 0.5;

/** Takes the latest measurement of a pairing of two profiles. */
export function learnFrom(
  learned: Learned,
  { metadata: { uid }, spec: { predicted }, status }: Pairing,
  service: Profiled | undefined,
  job: Profiled | undefined,
): void {
  const retained = status?.measured?.retained;
  const { parts } = predicted;
  if (service && job && retained !== undefined && parts)
    learned.observe(uid, pairKey(service, job), { retained, parts });
}

interface Pair {
  readonly forecast: SharingForecast;
  readonly ratio: number;
  /** By active share. */
  readonly offers: Map<number, Offer>;
}
