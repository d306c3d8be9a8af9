// Computes the rate of requests and the length of windows from the time of a request alone.

import { quantile } from "#core";
import { mean } from "#measure";
import { allPolicies } from "#policies";
import type { Arrangement } from "../scenario/arrangements.ts";
import { loadOf } from "../scenario/arriving.ts";
import type { Scenario } from "../scenario/scenario.ts";
import { SETTLE_S } from "./window.ts";

/** Length of the window in which the high job runs alone in a closed loop, which shows what it can serve. */
export const CALIBRATION_S = 1.5;
/** A training alone is steady, so a short window is enough. */
export const ALONE_S = 5;

export interface Pace {
  readonly serviceNs: number;
  /** undefined if the rate changes. */
  readonly ratePerS: number | undefined;
  /** Length of a window, including settling. */
  readonly seconds: number;
}

/**
 * How long that window is. A job whose requests take seconds says how long it has to be (`calibration_s` of what it says when
 * it is ready).
 */
export const calibrationOf = ({
  calibration_s: wanted,
}: Readonly<Record<string, unknown>>): number =>
  typeof wanted === "number" ? Math.max(CALIBRATION_S, wanted) : CALIBRATION_S;

/**
 * The time that a request takes the service alone, in ns: the median. `batched`: several are under way, and `times` are those
 * from one completion to the next. Then it is their mean, because requests are done in clumps.
 */
export const serviceTime = (times: readonly number[], batched: boolean): number =>
  batched ? mean(times) : quantile(times, 0.5);

/** `serviceNs`: what `serviceTime` says of the high job alone. */
export function paceOf({ arriving, requests, rounds, seconds }: Scenario, serviceNs: number): Pace {
  if (arriving.kind === "closed") return { serviceNs, ratePerS: undefined, seconds };
  if (arriving.kind === "steps") {
    const whole = arriving.steps.reduce((sum, step) => sum + step.seconds, 0);
    return { serviceNs, ratePerS: undefined, seconds: whole };
  }
  const ratePerS = (loadOf(arriving) ?? 0) / (serviceNs / 1e9);
  // Arrivals are random. Two standard deviations are added, so that there are not fewer requests than asked for.
  const perRound = requests / rounds;
  const needed = (perRound + 2 * Math.sqrt(perRound)) / ratePerS + SETTLE_S;
  return { serviceNs, ratePerS, seconds: Math.min(seconds + SETTLE_S, needed) };
}

/** The length of a window that does not count. */
const WARMUP_S = 1.5;

/** The length of the warm-up. Under a policy that learns it is what the scenario says. */
export const warmUpOf = (
  arrangement: Arrangement,
  scenario: Scenario,
  { seconds }: Pace,
): number => (learns(arrangement, scenario) ? scenario.learn : Math.min(WARMUP_S, seconds));

/** Whether the measurement has what the arrangement's policy learns from. */
export function learns(
  { place, high, bestEffort }: Arrangement,
  { slo, arriving }: Scenario,
): boolean {
  const from = place.kind === "cotenant" ? policyOf(place.policy)?.learnsFrom : undefined;
  const there = {
    services: true,
    objectives: slo.length > 0,
    trainings: arriving.kind === "closed",
  };
  return high && bestEffort && from !== undefined && there[from];
}

/** Includes policies that only the model can run. */
const policyOf = (wanted: string) => allPolicies.find(({ name }) => name === wanted);

export const paceText = (
  { serviceNs, ratePerS = 0, seconds }: Pace,
  { arriving }: Scenario,
): string =>
  `alone a request takes ${(serviceNs / 1e6).toFixed(3)} ms: ${ratePerS.toFixed(1)} a second for load ${loadOf(arriving)}, windows of ${seconds.toFixed(1)} s`;
