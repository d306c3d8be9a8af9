import { type RequestKind, requestKinds, statedIn } from "#policy";
import type { DurationHistogram } from "../histograms/durations.ts";
import { objectiveIn } from "../status/stated.ts";
import type { HighStatus } from "../status/status.ts";
import type { Metric, Sample, Scope } from "./metric.ts";

/** The label is not "quantile", which Prometheus keeps for summaries. */
export const requestObjectives = (high: Scope<HighStatus>): Metric => ({
  name: "cotenant_objective_request_seconds",
  type: "gauge",
  unit: "seconds",
  doc: `the objective: that statistic (p50, p90, p95, p99 or mean) of the times of that kind (${requestKinds.join(", ")})`,
  labels: [...high.labels, "kind", "statistic"],
  samples: (status) =>
    high
      .find(status)
      .flatMap(([client, labels]) =>
        statedIn(objectiveIn(client).requests ?? {}).map(
          ({ kind, quantile, limitUs }): Sample<number> => [
            limitUs / 1e6,
            { ...labels, kind, statistic: quantile },
          ],
        ),
      ),
});

const kinds: Readonly<Record<RequestKind, { readonly whole: string; readonly each: string }>> = {
  ttft: {
    whole: "the time to first token",
    each: "requests that the program reports, by the time to their first token",
  },
  tpot: {
    whole: "the time per output token",
    each: "the same requests, by the mean time of each token after the first",
  },
  itl: {
    whole: "the time from token to token",
    each: "times from one token to the next in the same requests",
  },
  e2e: {
    whole: "whole requests",
    each: "the same requests, by the time from their start to their end",
  },
};

type Row<V> = readonly [unit: string, doc: string, value: (client: HighStatus) => V | undefined];

export const p99Rows: Readonly<Record<string, Row<number>>> = Object.fromEntries(
  requestKinds.map((kind) => [
    `objective_${kind}_p99_seconds`,
    ["seconds", `the objective: 99th percentile of ${kinds[kind].whole}`, (c) => p99Of(c, kind)],
  ]),
);

export const reportedRows: Readonly<Record<string, Row<DurationHistogram>>> = Object.fromEntries(
  requestKinds.map((kind) => [
    `request_${kind}_seconds`,
    ["seconds", kinds[kind].each, (c) => c.told?.histograms[kind]],
  ]),
);

function p99Of(client: HighStatus, kind: RequestKind): number | undefined {
  const stated = objectiveIn(client).requests?.[kind];
  return stated?.quantile === "p99" ? stated.limitUs / 1e6 : undefined;
}
