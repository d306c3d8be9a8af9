// How far an axis reaches, and where its ticks are.
import { quantile } from "#core";
import { roundTicks } from "#drawing";

export interface Axis {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
}

/** Half of the curves that rise at all reach at least this part of the axis, however high the others are. */
export const MIN_PART = 1 / 4;

/**
 * From `from` to the highest value, unless that would flatten the other curves: then to four times what half of the
 * curves reach. A curve's height is what it exceeds in a twentieth of its points, so a short peak does not count.
 */
export function axisFor(
  curves: readonly (readonly number[])[],
  from: number,
  atLeast: number,
): Axis {
  const heights = curves
    .map((values) => quantile(values, 0.95) - from)
    .filter((height) => height > 0);
  const most = curves.flat().reduce((a, b) => Math.max(a, b), from) - from;
  const limit = heights.length > 0 ? quantile(heights, 0.5) / MIN_PART : most;
  const to = Math.max(from + Math.min(most, limit), atLeast, from + 1e-6);
  return { from, to, ticks: roundTicks(from, to, 5, [1, 2, 2.5, 5, 10]) };
}
