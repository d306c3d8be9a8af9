// A predictor forecasts where both pods have a profile of that GPU, else what was learned from this
// cluster's pairs, and the turn bound before enough were measured.
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

export interface Profiled {
  readonly key: string;
  readonly gpu: string;
  readonly features: Features;
}

export interface PairWorkloads {
  readonly service: string;
  readonly job: string;
}

export interface LearnedForecast {
  readonly retained: number;
  /** They bound `retained`; undefined while the prior decides. */
  readonly bounds: { readonly low: number; readonly high: number } | undefined;
  /** It is without queueing; undefined while the prior decides. */
  readonly slowdown:
    | { readonly value: number; readonly low: number; readonly high: number }
    | undefined;
  readonly from: "rule" | "model";
  readonly pairs: number;
}

export interface LearnedForecasts {
  /** It is "" for all jobs of which nothing is known. */
  kindOf(workload: string): string;
  /** undefined while the prior decides about both. `load`: active share of the service, 0 to 1. */
  of(pair: PairWorkloads, model: string, load: number): LearnedForecast | undefined;
  isMeasured(pair: PairWorkloads, model: string): boolean;
}

const pairKey = (service: Profiled, job: Profiled): string => `${service.key}\n${job.key}`;

export interface Forecasts {
  profileOf(pod: Pod): Profiled | undefined;
  /** `others`: best-effort pods that are there. Without `names` nothing learned is used. */
  of(
    service: Profiled | undefined,
    job: Profiled | undefined,
    gpu: ForecastGpu,
    others: number,
    names?: PairWorkloads,
  ): SharedForecast;
  kindOf(workload: string): string;
  isMeasured(names: PairWorkloads, model: string): boolean | undefined;
}

interface ForecastGpu {
  readonly model: string;
  readonly activeShare: number;
}

interface SharedForecast extends Forecast {
  /** All pods of the GPU get this together, 0 to 1. */
  readonly share: number;
  readonly worth: number;
}

interface SharingForecast extends PairForecast {
  readonly knowsShares: boolean;
}

export type PairForecasts = (service: Features, job: Features) => SharingForecast | undefined;

/** `learned` has the errors of predictors, `learner` what this cluster's pairs have shown. */
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

/** Pairs were measured at the share of the turn bound, so a learned forecast is for that share. */
function learnedOn(
  { from, pairs, bounds, slowdown, ...forecast }: LearnedForecast,
  activeShare: number,
  part: number,
): SharedForecast {
  const retained = forecast.retained * part;
  const grown = (factor: number) => Math.max(1, responseGrowth(activeShare, 1 / factor));
  const slowed = slowdown && {
    slowdown: grown(slowdown.value),
    slowdownHigh: grown(slowdown.high),
    bursts: { slowdown: slowdown.value, low: slowdown.low, high: slowdown.high },
  };
  return {
    ...{ from, pairs, retained, ...slowed, share: complementShare(activeShare) },
    ...(bounds && { retainedLow: bounds.low * part, retainedHigh: bounds.high * part }),
    worth: worthOf(retained, activeShare, slowed?.slowdown ?? 1),
  };
}

/** undefined where the predictor wants a metric that a profile lacks. */
export const pairsBy =
  (predictor: Predictor): PairForecasts =>
  (service, job) => {
    try {
      return pairBy(predictor, service, job);
    } catch {
      return undefined;
    }
  };

/** Some predictors know whole GPUs only. Without requests no share limits (decision 0028). */
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

const ANY_SHARE = 0.5;

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
  readonly offers: Map<number, Offer>;
}
