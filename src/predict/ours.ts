// Our own predictor: a Gaussian process (process.ts) for the burden that each company is to each target, on the
// scale where burdens add (link.ts). Against a regression of the throughput sum (KACE) it uses what is known
// without learning: solo throughput is a factor, and each colocation tells about both of its sides.
//
// How far metrics reach, how noisy measurements are and which scale fits is chosen by what the training rows say
// of each other with each colocation left out. A row that fits nothing else counts less (measured tables have
// faulty rows). The model keeps what it learned from, so its file reads as a table, and opening it fits it again.
import {
  BASIS,
  deviation,
  featuresOf,
  fitted,
  leftOutError,
  type Observation,
  observed,
  type Prepared,
  prepare,
  surprises,
  type Tuned,
} from "./burdens.ts";
import { dot } from "./cholesky.ts";
import type { Colocation } from "./colocations.ts";
import { alone, beside } from "./company.ts";
import { familiarity } from "./familiar.ts";
import { badShare, nothingToLearn } from "./faults.ts";
import { ceiling, fromScale } from "./link.ts";
import type { Features, MetricName } from "./metrics.ts";
import { INTERVAL, type Prediction, type Predictor } from "./predictor.ts";
import { closeness, covariance, ownVariance, quadratic, readout } from "./process.ts";
import { logMetrics, standardised } from "./standard.ts";

export interface OursState {
  readonly tuned: Tuned;
  /** Half width of the interval, in standard deviations, that the left-out rows called for. */
  readonly width: number;
  /** Values of the model's metrics. */
  readonly workloads: readonly (readonly number[])[];
  readonly observations: readonly Observation[];
}

/** What is tried, one after the other; the first of each is where the search begins. */
const choices = {
  softness: [0.3, 0.1, 0.65, 1],
  reach: [1.4, 0.7, 1, 2],
  noise: [0.03, 0.08],
  interplay: [0.3, 1],
  shareReach: [0.5, 1],
} as const satisfies Readonly<Record<keyof Tuned, readonly number[]>>;
const SWEEPS = 2;

export function trainOurs(rows: readonly Colocation[], metrics: readonly MetricName[]): OursState {
  const learned = observed(rows, metrics);
  if (learned.observations.length === 0)
    throw nothingToLearn("no colocation has two clients, from which burdens are learned");
  const prepared = prepare(learned.workloads, learned.observations, metrics);
  const most = Math.max(...learned.observations.map(([, , , , retained]) => retained));
  const possible = choices.softness.filter((one) => BELOW * ceiling(one) >= most || one === 1);
  let tuned: Tuned = {
    softness: possible[0] ?? 1,
    reach: choices.reach[0],
    noise: choices.noise[0],
    interplay: choices.interplay[0],
    shareReach: choices.shareReach[0],
  };
  const wereTried = new Set([JSON.stringify(tuned)]);
  let least = leftOutError(prepared, tuned);
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (const name of ["softness", "reach", "noise", "interplay", "shareReach"] as const) {
      if (name === "shareReach" && !prepared.sharesDiffer) continue;
      for (const value of name === "softness" ? possible : choices[name]) {
        const tried = { ...tuned, [name]: value };
        if (wereTried.has(JSON.stringify(tried))) continue;
        wereTried.add(JSON.stringify(tried));
        const error = leftOutError(prepared, tried);
        if (error < least) {
          least = error;
          tuned = tried;
        }
      }
    }
  const doubts = doubted(prepared, tuned);
  const observations = learned.observations.map(
    ([target, company, targetShare, companyShare, retained], i): Observation => [
      target,
      company,
      targetShare,
      companyShare,
      retained,
      doubts[i] as number,
    ],
  );
  const final = prepare(learned.workloads, observations, metrics);
  return { tuned, width: widthOf(final, tuned), workloads: learned.workloads, observations };
}

/** A value so near a ceiling can be noise. */
const BELOW = 1.02;

/** Beyond this many standard deviations a row is doubted, the more the farther off it is. */
const SURPRISING = 2.5;

const doubted = (prepared: Prepared, tuned: Tuned): Float64Array =>
  surprises(prepared, tuned).map((one) => Math.max(1, one / SURPRISING) ** 2);

function widthOf(prepared: Prepared, tuned: Tuned): number {
  const sorted = surprises(prepared, tuned).sort();
  // The quantile that also holds for one more row (split conformal prediction).
  const rank = Math.min(sorted.length, Math.ceil((sorted.length + 1) * INTERVAL));
  return sorted[rank - 1] as number;
}

/** Standard deviations of a normal distribution that hold INTERVAL of it. */
const NORMAL_WIDTH = 1.645;

export function openOurs(state: OursState, metrics: readonly MetricName[]): Predictor {
  const { tuned, width, workloads, observations } = state;
  const prepared = prepare(workloads, observations, metrics);
  const { standard, places, points } = prepared;
  const { mean, ...fit } = fitted(prepared, tuned, BASIS);
  const { pivots } = fit;
  const read = readout(fit);
  const m = pivots.length;
  const known = workloads.map((values) => featuresOf(values, metrics));
  const isFamiliar = familiarity(known, metrics);
  const pick = (column: Int32Array | Float64Array) =>
    Float64Array.from(pivots, (p) => column[p] as number);
  const pivotTarget = pick(points.target);
  const pivotCompany = pick(points.company);
  const pivotTargetShare = pick(points.targetShare);
  const pivotCompanyShare = pick(points.companyShare);
  const seen = new WeakMap<Features, Float64Array>();
  const nearOf = (features: Features): Float64Array => {
    const before = seen.get(features);
    if (before) return before;
    const place = standardised(standard, logMetrics(features, metrics));
    const near = closeness(place, places, metrics.length, tuned.reach);
    seen.set(features, near);
    return near;
  };
  const kernel = new Float64Array(m);

  const pair = (target: Features, company: Features, share: number, companyShare: number) => {
    const nearTarget = nearOf(target);
    const nearCompany = nearOf(company);
    const logShare = logOf(share);
    const logCompanyShare = logOf(companyShare);
    for (let i = 0; i < m; i++) {
      const gap = logShare - (pivotTargetShare[i] as number);
      const companyGap = logCompanyShare - (pivotCompanyShare[i] as number);
      kernel[i] = covariance(
        tuned,
        nearTarget[pivotTarget[i] as number] as number,
        nearCompany[pivotCompany[i] as number] as number,
        gap * gap + companyGap * companyGap,
      );
    }
    const z = mean + dot(kernel, 0, read.alpha, 0, m);
    const sd = deviation(z, Math.max(0, ownVariance(tuned) + quadratic(read, kernel)), tuned);
    return { retained: fromScale(z, tuned.softness), sd };
  };

  const stated = (retained: number, sd: number, familiar: boolean): Prediction => ({
    retained,
    uncertainty: (sd * width) / NORMAL_WIDTH,
    low: Math.max(0, retained - sd * width),
    high: retained + sd * width,
    familiar,
  });

  return {
    predict(target, others, shares) {
      const shared = shares && [shares.target, ...shares.others].some((share) => share !== 1);
      const familiar =
        isFamiliar(target) && others.every(isFamiliar) && (prepared.sharesDiffer || !shared);
      const pairs = others.map((other, i) =>
        pair(target, other, shares?.target ?? 1, shares?.others[i] ?? 1),
      );
      const [only] = pairs;
      if (!only) return alone(familiar);
      const { retained, sd } = pairs.length === 1 ? only : beside(pairs);
      return stated(retained, sd, familiar);
    },
  };
}

function logOf(share: number): number {
  if (!(share > 0 && share <= 1)) throw badShare(share);
  return Math.log(share);
}
