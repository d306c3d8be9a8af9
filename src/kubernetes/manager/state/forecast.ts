// Expected retained throughput of a best-effort pod on a GPU: by a predictor where both the pod and the service have
// a profile of that GPU, else by the turn bound.
import { type Features, isMetric, type Predictor } from "#predict";
import { PROFILE_ANNOTATION } from "../../labels/names.ts";
import type { Forecast, Pairing, Pod, WorkloadProfile } from "./objects.ts";

/** The metrics of a pod's profile, and what forecasts of equal pods share: the profile's name and version. */
export interface Profiled {
  readonly key: string;
  readonly gpu: string;
  readonly features: Features;
}

/** Key of learned ratios. */
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

/** A forecast has the weight of this many observations: as the simulator's schedulers learn (lab/cluster). */
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
      const [besideRequests, slowdown] = pair;
      // Beside a request while one is served, and alone otherwise.
      const beside = (activeShare * besideRequests) / (others + 1);
      const alone = (1 - activeShare) / (others + 1);
      const retained = beside * learned.ratio(pairKey(service, job)) + alone;
      return {
        retained: Math.min(1 / (others + 1), retained),
        ...{ slowdown, from: "profiles", parts: { beside, alone } },
      };
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

/**
 * Errors of predictors that pairings have shown, in throughput retained beside requests. Each pairing counts once,
 * with its latest measurement.
 */
export interface Learned {
  observe(pairing: Pairing, service: Profiled | undefined, job: Profiled | undefined): void;
  /** Measured, divided by predicted; 1 where nothing is known. */
  ratio(pair: string): number;
}

/** Pairings are forgotten from the oldest on. */
const MAX_REMEMBERED = 20_000;

/** A trusted observation is one of a pod that has retained so much beside requests. */
const TRUSTED_BESIDE = 0.5;

/** The sums of a least-squares fit through the origin: measured over predicted. */
interface Sums {
  readonly xx: number;
  readonly xy: number;
}

/**
 * The ratio is a least-squares fit, because where a service is hardly active, what was measured says little of what is
 * retained beside its requests. It is about what the predictor said by itself: what has been corrected already would teach
 * that nothing is wrong.
 */
export function learning(): Learned {
  const byPairing = new Map<string, readonly [pair: string, sums: Sums]>();
  const all = new Map<string, Sums>();
  const add = (pair: string, { xx, xy }: Sums, sign: 1 | -1) => {
    const now = all.get(pair) ?? { xx: 0, xy: 0 };
    all.set(pair, { xx: now.xx + sign * xx, xy: now.xy + sign * xy });
  };
  const forget = (uid: string) => {
    const before = byPairing.get(uid);
    if (before) add(...before, -1);
    byPairing.delete(uid);
  };
  return {
    observe({ metadata: { uid }, spec: { predicted }, status }, service, job) {
      const measured = status?.measured?.retained;
      const { parts } = predicted;
      if (!service || !job || measured === undefined || parts === undefined) return;
      const { beside, alone } = parts;
      const sums = { xx: beside * beside, xy: beside * (measured - alone) };
      if (!Number.isFinite(sums.xx + sums.xy)) return;
      forget(uid);
      const pair = pairKey(service, job);
      byPairing.set(uid, [pair, sums]);
      add(pair, sums, 1);
      const [oldest] = byPairing.keys();
      if (byPairing.size > MAX_REMEMBERED && oldest !== undefined) forget(oldest);
    },
    ratio(pair) {
      const { xx, xy } = all.get(pair) ?? { xx: 0, xy: 0 };
      const trusted = TRUST * TRUSTED_BESIDE ** 2;
      return Math.max(0, (xy + trusted) / (xx + trusted));
    },
  };
}
