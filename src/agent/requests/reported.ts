// A program's own reports are exact, where an endpoint has a few fixed bounds.
import {
  limitUsOf,
  NEAR,
  type RequestCounts,
  type RequestLimits,
  type RequestSample,
  statedIn,
} from "#policy";
import { bucketMiddle } from "#protocol";
import type { Client } from "../gpus/gpu.ts";
import type { RequestMeter } from "../meters/request-meter.ts";
import type { RequestsStatus } from "./endpoint.ts";
import { MAX_EACH } from "./judge.ts";

/** After this many requests without a kind of time, the program does not report that kind. */
const TELLS_BY = 30;

/**
 * The program's reports judge its objective if no endpoint is named, or they hold all kinds that
 * the objective names: an endpoint knows each time less exactly.
 */
export function reportingMeter(
  { objective, sloMetrics }: Pick<Client, "objective" | "sloMetrics">,
  meter: RequestMeter | undefined,
): RequestMeter | undefined {
  if (!meter || !objective?.requests) return undefined;
  const tellsAll = statedIn(objective.requests).every(({ kind }) => meter.total(kind) > 0);
  return sloMetrics === "" || tellsAll ? meter : undefined;
}

export function reportedRequests(meter: RequestMeter, limits: RequestLimits): RequestSample {
  if (whyUnreported(meter, limits) !== undefined) return undefined;
  const since = meter.since();
  // The time between tokens shows at once how fast the program is, stated or not.
  const kinds = new Set([...statedIn(limits).map(({ kind }) => kind), "itl" as const]);
  return Object.fromEntries(
    [...kinds].map((kind) => [kind, countsOf(since?.[kind], limitUsOf(limits, kind))]),
  );
}

export function reportedStatus(meter: RequestMeter, limits: RequestLimits): RequestsStatus {
  const { times = {} } = meter.measure() ?? {};
  const since = meter.since();
  const kinds = statedIn(limits).flatMap((stated) => {
    const { kind, quantile, limitUs } = stated;
    const quantiles = times[kind];
    if (!quantiles) return [];
    return [
      {
        ...stated,
        judgedAtUs: limitUs,
        counts: countsOf(since?.[kind], limitUs),
        meanUs: quantiles.meanUs,
        statedUs: quantiles[`${quantile}Us`],
        p50Us: quantiles.p50Us,
        p99Us: quantiles.p99Us,
      },
    ];
  });
  return { url: "", unheard: whyUnreported(meter, limits), kinds };
}

function whyUnreported(meter: RequestMeter, limits: RequestLimits): string | undefined {
  if (!meter.has)
    return "it has not reported one yet (cotenant_request_begin), and no --slo-metrics names its endpoint";
  const requests = Math.max(meter.total("e2e"), meter.total("ttft"));
  const { kind: missing } = statedIn(limits).find(({ kind }) => meter.total(kind) === 0) ?? {};
  if (missing === undefined || requests < TELLS_BY) return undefined;
  const call = missing === "e2e" ? "cotenant_request_end" : "cotenant_request_progress";
  return `${requests} were reported, and none with a ${missing}, which ${call} reports`;
}

function countsOf(counts: Uint32Array | undefined, limitUs: number): RequestCounts {
  let [values, above, near, sumUs] = [0, 0, 0, 0];
  const each: number[] = [];
  for (let bucket = 0; bucket < (counts?.length ?? 0); bucket++) {
    const count = counts?.[bucket] ?? 0;
    if (count === 0) continue;
    const us = bucketMiddle(bucket);
    values += count;
    sumUs += count * us;
    if (us > limitUs) above += count;
    if (us > NEAR * limitUs) near += count;
    if (values <= MAX_EACH) each.push(...Array.from({ length: count }, () => us));
  }
  const areFew = values > 0 && values <= MAX_EACH;
  return { values, above, near, sumUs, ...(areFew && { each }) };
}
