// The baseline beside every learner: a straight line through the sum of all clients' busy shares.
import { type Colocation, type Features, type MetricName, meanOf, type Predictor } from "#predict";

export const BUSY_LINE = "line on busy shares";

/** The part of the time in which a job has a kernel on the GPU: nvidia-smi's, else from a recording of its kernels. */
const busyMetrics = ["smBusy", "kernelShare"] as const satisfies readonly MetricName[];

/**
 * Retained throughput by least squares on one number, the sum of the busy shares of all clients; the same for each of
 * them. It states no bounds: `low` and `high` are the prediction. Undefined if a row has a client without a busy share.
 */
export function busyLine(rows: readonly Colocation[]): Predictor | undefined {
  const sides = rows.flatMap((row) => row.sides);
  const metric = busyMetrics.find((name) =>
    sides.every(({ features }) => features[name] !== undefined),
  );
  if (metric === undefined) return undefined;
  const sumOf = (clients: readonly Features[]) =>
    clients.reduce((sum, features) => sum + (features[metric] ?? Number.NaN), 0);
  const points = rows.flatMap((row) => {
    const x = sumOf(row.sides.map(({ features }) => features));
    return row.sides.map(({ retained }) => ({ x, y: retained }));
  });
  const [x, y] = [meanOf(points.map((one) => one.x)), meanOf(points.map((one) => one.y))];
  const spread = meanOf(points.map((one) => (one.x - x) ** 2));
  const slope = meanOf(points.map((one) => (one.x - x) * (one.y - y))) / (spread || 1);
  return predictorOf((target, others) => y + slope * (sumOf([target, ...others]) - x));
}

/** The mean of what was learned, for every client. */
export function meanPredictor(rows: readonly Colocation[]): Predictor {
  const mean = meanOf(rows.flatMap(({ sides }) => sides.map(({ retained }) => retained)));
  return predictorOf(() => mean);
}

const predictorOf = (
  answer: (target: Features, others: readonly Features[]) => number,
): Predictor => ({
  predict(target, others) {
    const retained = answer(target, others);
    return { retained, uncertainty: 0, low: retained, high: retained, familiar: true };
  },
});
