// The load of online services: periodic over days, smooth over minutes, with rare bursts (MuxFlow, section 2.2 and
// Figure 2), or as a log of requests says. At load 1, one GPU of the reference type is busy all the time.
import type { RandomStream } from "./random-stream.ts";

export interface DailyLoad {
  /** At the quietest and at the busiest hour, 0 to 1. */
  readonly low: number;
  readonly high: number;
  readonly peakHour: number;
  /** Expected number a day. Each is BURST_SECONDS long and multiplies the load by BURST_FACTOR. */
  readonly burstsPerDay: number;
  /** How unevenly a service's GPUs are loaded: standard deviation of a factor's logarithm. */
  readonly spread: number;
  /** Standard deviation of the slow drift around the curve, relative. */
  readonly wander: number;
}

export interface LoggedLoad {
  /** The load of the service's average GPU, step by step. It repeats. */
  readonly logged: Float64Array;
  readonly spread: number;
}

const DAY = 86_400;
const BURST_SECONDS = 600;
const BURST_FACTOR = 1.5;
/** Makes peaks sharper than a cosine's, because busy evenings are shorter than quiet nights. */
const PEAKEDNESS = 1.5;
/** By default the load drifts around the curve by this much, and a deviation decays over so many seconds. */
export const WANDER = 0.05;
const WANDER_SECONDS = 1_800;

/**
 * The load of a service's average GPU at each step from `from` to `to`, in seconds; negative times are the day before.
 */
export function loadCurve(
  load: DailyLoad | LoggedLoad,
  { from, to, step }: { readonly from: number; readonly to: number; readonly step: number },
  random: RandomStream,
): Float64Array {
  const curve = new Float64Array(Math.ceil((to - from) / step));
  if ("logged" in load) {
    const { logged } = load;
    const first = Math.round(from / step);
    return curve.map((_, i) => logged.at((first + i) % logged.length) ?? 0);
  }
  const { low, high, peakHour, burstsPerDay, wander: drift } = load;
  const keep = Math.exp(-step / WANDER_SECONDS);
  let wander = 0;
  let burstUntil = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < curve.length; i++) {
    const at = from + i * step;
    const hour = Math.cos((2 * Math.PI * (at - peakHour * 3600)) / DAY);
    wander = keep * wander + Math.sqrt(1 - keep * keep) * drift * random.normal();
    if (random.uniform() < (burstsPerDay * step) / DAY) burstUntil = at + BURST_SECONDS;
    const usual = low + (high - low) * ((1 + hour) / 2) ** PEAKEDNESS;
    curve[i] = usual * Math.exp(wander) * (at < burstUntil ? BURST_FACTOR : 1);
  }
  return curve;
}
