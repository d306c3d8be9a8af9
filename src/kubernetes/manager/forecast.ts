// What a best-effort pod is expected to retain on a GPU: by a predictor where both it and the service have a profile of
// that GPU, else by the turn bound.
import { type Features, isMetric, type Predictor } from "#predict";
import { PROFILE_ANNOTATION } from "../names.ts";
import type { Forecast, Pairing, Pod, WorkloadProfile } from "./objects.ts";

/** The metrics of a pod's profile, and what forecasts of equal pods share: the profile's name and version. */
export interface Profiled {
  readonly key: string;
  readonly gpu: string;
  readonly features: Features;
}

/** What learned ratios are kept by. */
const pairKey = (service: Profiled, job: Profiled): string => `${service.key}\n${job.key}`;

export interface Forecasts {
  /** The profile that a pod names; undefined if it names none, or one that is not there. */
  profileOf(pod: Pod): Profiled | undefined;
  /** `model` of the GPU; `activeShare` of its service; `others`: how many best-effort pods are there already. */
  of(
    service: Profiled | undefined,
    job: Profiled | undefined,
    gpu: { readonly model: string; readonly activeShare: number },
    others: number,
  ): Forecast;
}

/** A forecast has the weight of this many observations: as the simulator's schedulers learn (src/offline/cluster). */
const TRUST = 5;

/** Forecasts from the profiles that are there. `learned`: what pairings that ran have shown. */
export function forecasts(
  predictor: Predictor | undefined,
  profiles: Iterable<WorkloadProfile>,
  learned: Learned,
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
  const predicted = new Map<string, readonly [retained: number, slowdown: number] | undefined>();
  const predict = (service: Profiled, job: Profiled) => {
    const key = pairKey(service, job);
    if (!predicted.has(key)) predicted.set(key, predictPair(predictor, service, job));
    return predicted.get(key);
  };
  return {
    profileOf({ metadata: { namespace, annotations } }) {
      const name = annotations?.[PROFILE_ANNOTATION];
      return name === undefined ? undefined : byName.get(`${namespace}/${name}`);
    },
    of(service, job, { model, activeShare }, others) {
      const here = service?.gpu === model && job?.gpu === model;
      const pair = here ? predict(service, job) : undefined;
      if (pair === undefined || !service || !job)
        return { retained: (1 - activeShare) / (others + 1), from: "turns" };
      const [beside, slowdown] = pair;
      // Beside a request while one is served, and alone otherwise.
      const retained =
        activeShare * beside * learned.ratio(pairKey(service, job)) + 1 - activeShare;
      return { retained: Math.min(1, retained) / (others + 1), slowdown, from: "profiles" };
    },
  };
}

/** undefined where the predictor wants a metric that a profile lacks. */
function predictPair(predictor: Predictor | undefined, service: Profiled, job: Profiled) {
  try {
    const retained = predictor?.predict(job.features, [service.features]).retained;
    const served = predictor?.predict(service.features, [job.features]).retained;
    if (retained === undefined || served === undefined) return undefined;
    return [retained, 1 / Math.max(0.01, Math.min(1, served))] as const;
  } catch {
    return undefined;
  }
}

/** What pairings have shown: measured, divided by predicted. Each counts once, with its latest measurement. */
export interface Learned {
  observe(pairing: Pairing, service: Profiled | undefined, job: Profiled | undefined): void;
  /** 1 where nothing is known. */
  ratio(pair: string): number;
}

/** Pairings are forgotten from the oldest on. */
const MOST_REMEMBERED = 20_000;

export function learning(): Learned {
  const byPairing = new Map<string, readonly [pair: string, ratio: number]>();
  const sums = new Map<string, { count: number; sum: number }>();
  const add = (pair: string, ratio: number, count: 1 | -1) => {
    const now = sums.get(pair) ?? { count: 0, sum: 0 };
    sums.set(pair, { count: now.count + count, sum: now.sum + count * ratio });
  };
  const forget = (uid: string) => {
    const before = byPairing.get(uid);
    if (before) add(...before, -1);
    byPairing.delete(uid);
  };
  return {
    observe({ metadata: { uid }, spec: { predicted }, status }, service, job) {
      const measured = status?.measured?.retained;
      if (!service || !job || measured === undefined || predicted.from !== "profiles") return;
      const ratio = measured / Math.max(0.01, predicted.retained);
      if (!Number.isFinite(ratio)) return;
      forget(uid);
      const pair = pairKey(service, job);
      byPairing.set(uid, [pair, ratio]);
      add(pair, ratio, 1);
      const [oldest] = byPairing.keys();
      if (byPairing.size > MOST_REMEMBERED && oldest !== undefined) forget(oldest);
    },
    ratio(pair) {
      const { count, sum } = sums.get(pair) ?? { count: 0, sum: 0 };
      return (sum + TRUST) / (count + TRUST);
    },
  };
}
