import {
  type Objective,
  type RequestKind,
  type RequestLimits,
  type RequestQuantile,
  requestLimits,
  statedIn,
} from "#policy";

export interface StatedStatus {
  readonly sloP99Us: number | undefined;
  readonly sloSlowdown: number | undefined;
  /** In us, by kind. `quantiles`: the statistics other than the p99. */
  readonly sloRequests:
    | (Readonly<Partial<Record<RequestKind, number>>> & {
        readonly quantiles?: Readonly<Partial<Record<RequestKind, RequestQuantile>>>;
      })
    | undefined;
}

export const statedStatus = (objective: Objective | undefined): StatedStatus => ({
  sloP99Us: objective?.p99Us,
  sloSlowdown: objective?.slowdown,
  sloRequests: objective?.requests && requestsStatus(objective.requests),
});

export const objectiveIn = ({ sloP99Us, sloSlowdown, sloRequests }: StatedStatus): Objective => ({
  p99Us: sloP99Us,
  slowdown: sloSlowdown,
  requests: sloRequests && limitsIn(sloRequests),
});

function requestsStatus(limits: RequestLimits): StatedStatus["sloRequests"] {
  const stated = statedIn(limits);
  const others = stated.filter(({ quantile }) => quantile !== "p99");
  return {
    ...Object.fromEntries(stated.map(({ kind, limitUs }) => [kind, limitUs])),
    ...(others.length > 0 && {
      quantiles: Object.fromEntries(others.map(({ kind, quantile }) => [kind, quantile])),
    }),
  };
}

function limitsIn({ quantiles, ...us }: NonNullable<StatedStatus["sloRequests"]>): RequestLimits {
  const limits = statedIn(requestLimits(us));
  return Object.fromEntries(
    limits.map((one) => [one.kind, { ...one, quantile: quantiles?.[one.kind] ?? one.quantile }]),
  );
}
