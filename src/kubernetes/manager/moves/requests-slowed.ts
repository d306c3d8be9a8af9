// The limit `mostSlowdown` is about requests, so that what is measured of bursts gets the queueing that a forecast has.
import { responseGrowth } from "#place";
import type { Pairing } from "../state/objects.ts";

type Measured = NonNullable<Pairing["status"]>["measured"];

/**
 * Factor by which requests took longer: the larger of what nodes write, which is of the p99, and of the median with
 * queueing. Steps of an engine serve many requests at a time, so nothing is known of their queue.
 */
export function requestsSlowed({ slowdown = 1, pair }: NonNullable<Measured> = {}): number {
  const { unit, p50Us = 0, soloP50Us = 0 } = pair?.service ?? {};
  if (!pair || unit !== "burst" || !(p50Us > soloP50Us && soloP50Us > 0)) return slowdown;
  const served = soloP50Us / p50Us;
  // The load was measured with the job, whose requests are longer.
  return Math.max(slowdown, responseGrowth(pair.load * served, served));
}
