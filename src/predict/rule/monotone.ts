// Isotonic regression pools adjacent violators (Barlow et al., Statistical Inference under Order
// Restrictions, 1972), with straight lines between the pools.

export interface Point {
  readonly x: number;
  readonly y: number;
  readonly weight: number;
}

/** It has the least weighted squares. Throws a RangeError without points. */
export function fitMonotone(
  points: readonly Point[],
  direction: "rising" | "falling",
): (x: number) => number {
  if (points.length === 0) throw new RangeError("no points to fit");
  const sign = direction === "rising" ? 1 : -1;
  const pools: Point[] = [];
  for (const { x, y, weight } of [...points].sort((one, other) => one.x - other.x)) {
    let pool: Point = { x, y: sign * y, weight };
    for (
      let last = pools.at(-1);
      last && (last.y >= pool.y || last.x === pool.x);
      last = pools.at(-1)
    ) {
      pool = joined(last, pool);
      pools.pop();
    }
    pools.push(pool);
  }
  return (x) => sign * between(pools, x);
}

function joined(one: Point, other: Point): Point {
  const weight = one.weight + other.weight;
  const mean = (a: number, b: number) => (one.weight * a + other.weight * b) / weight;
  return { x: mean(one.x, other.x), y: mean(one.y, other.y), weight };
}

function between(pools: readonly Point[], x: number): number {
  const at = pools.findIndex((pool) => pool.x >= x);
  const [left, right] = [pools[at < 0 ? pools.length - 1 : at - 1], pools[at]];
  if (!left || !right) return (left ?? right)?.y ?? Number.NaN;
  return left.y + ((right.y - left.y) * (x - left.x)) / (right.x - left.x);
}
