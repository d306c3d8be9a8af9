// Rows of numbers for regressors, as their publications make them.
import { metricOf } from "./colocations.ts";
import { combined, type Features, type MetricName } from "./metrics.ts";
import type { SmShares } from "./predictor.ts";

/** KACE, section 3.2: raw metrics summed, percentages averaged. The same whichever client comes first. */
export const pairRow = (clients: readonly Features[], metrics: readonly MetricName[]): number[] =>
  metrics.map((name) =>
    combined(
      name,
      clients.map((features) => metricOf(features, name)),
    ),
  );

/** MuxFlow, section 5: metrics of the one, those of the other, and SM shares. Several others as KACE combines them. */
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
