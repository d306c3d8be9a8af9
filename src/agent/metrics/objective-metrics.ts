// Objectives about requests as metrics: a series for each kind of times, with the quantile that is stated.
import { quantileOf, type RequestKind, requestKinds, statedKinds } from "#policy";
import type { HighStatus } from "../status/status.ts";
import type { Metric, Sample, Scope } from "./metric.ts";

/** Objectives of the high clients of a scope. The label is not "quantile", which Prometheus keeps for summaries. */
export const requestObjectives = (high: Scope<HighStatus>): Metric => ({
  name: "cotenant_objective_request_seconds",
  type: "gauge",
  unit: "seconds",
  doc: `the objective: that statistic (p50, p90, p95, p99 or mean) of the times of that kind (${requestKinds.join(", ")})`,
  labels: [...high.labels, "kind", "statistic"],
  samples: (status) =>
    high
      .find(status)
      .flatMap(([{ sloRequests = {} }, labels]) =>
        statedKinds(sloRequests).map(
          (kind): Sample<number> => [
            (sloRequests[kind] ?? 0) / 1e6,
            { ...labels, kind, statistic: quantileOf(sloRequests, kind) },
          ],
        ),
      ),
});

/** In seconds; undefined unless the objective is about that p99. */
export function p99Of({ sloRequests = {} }: HighStatus, kind: RequestKind): number | undefined {
  const us = sloRequests[kind];
  return us === undefined || quantileOf(sloRequests, kind) !== "p99" ? undefined : us / 1e6;
}
