import { metricOf } from "./colocations.ts";
import { combineMetrics, type Features, type MetricName } from "./metrics.ts";
import type { SmShares } from "./predictor.ts";

/** KACE, section 3.2: raw metrics are summed, percentages averaged; the order does not matter. */
export const pairRow = (clients: readonly Features[], metrics: readonly MetricName[]): number[] =>
  metrics.map((name) =>
    combineMetrics(
      name,
      clients.map((features) => metricOf(features, name)),
    ),
  );

/** MuxFlow, section 5: target, neighbour, SM shares. Several neighbours are combined as in KACE. */
export const sideRow = (
  target: Features,
  others: readonly Features[],
  metrics: readonly MetricName[],
  shares: SmShares | undefined,
): number[] => [
  ...metrics.map((name) => metricOf(target, name)),
  ...pairRow(others, metrics),
  shares?.target ?? 1,
  Math.min(1, shares?.others.reduce((sum, share) => sum + share, 0) ?? 1),
];
