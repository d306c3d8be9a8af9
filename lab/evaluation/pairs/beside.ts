// Predictors are about two jobs that both work all the time. A service works only part of the time, `a`. The training runs
// alone for the rest of it, so
//     retained over all = a x retained beside requests + (1 - a) x 1.

/** If a service is active for less of the time, noise hides what a training retained beside its requests. */
const MIN_ACTIVE = 0.15;

/**
 * Throughput that a training retained beside requests, 0 to 1; undefined if the service is hardly active. No job runs faster
 * beside others than alone: a result above 1 is noise, and counts as 1.
 *
 * @param retained over all, 0 to 1
 * @param active part of the time in which a request is served, 0 to 1
 */
export function besideRequests(retained: number, active: number): number | undefined {
  if (!(active >= MIN_ACTIVE)) return undefined;
  return Math.min(1, Math.max(0, (retained - (1 - active)) / active));
}
