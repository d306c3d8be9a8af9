// CART splits a node where the squared error falls most. Ranks of values make sorting needless.
import type { Random } from "#core";

export interface TreeShape {
  readonly depth: number;
  readonly fewestToSplit: number;
  readonly fewestInLeaf: number;
  readonly tried: number;
}

/** A leaf is its value; a node is [metric, threshold, index of the left child, of the right]. */
export type Tree = readonly (number | readonly [number, number, number, number])[];

export function treeValue(tree: Tree, row: Float64Array): number {
  let node = tree[0];
  while (typeof node === "object")
    node = tree[(row[node[0]] as number) <= node[1] ? node[2] : node[3]];
  return node as number;
}

export interface Ranked {
  readonly values: readonly Float64Array[];
  readonly ranks: readonly Int32Array[];
}

export function rankValues(x: readonly Float64Array[]): Ranked {
  const width = x[0]?.length ?? 0;
  const columns = Array.from({ length: width }, (_, k) =>
    Float64Array.from(x, (row) => row[k] as number),
  );
  const values = columns.map((column) => Float64Array.from(new Set(column)).sort());
  const ranks = columns.map((column, k) => {
    const order = new Map([...(values[k] ?? [])].map((value, rank) => [value, rank]));
    return Int32Array.from(column, (value) => order.get(value) ?? 0);
  });
  return { values, ranks };
}

export function grow(
  { values, ranks }: Ranked,
  y: Float64Array,
  rows: Int32Array,
  shape: TreeShape,
  random: Random,
): Tree {
  const nodes: (number | readonly [number, number, number, number])[] = [];
  const metrics = values.map((_, k) => k);
  const most = Math.max(...values.map((column) => column.length));
  const counts = new Int32Array(most);
  const sums = new Float64Array(most);

  const bestSplit = (held: Int32Array, total: number) => {
    let best = { gain: (total * total) / held.length + 1e-12, metric: -1, rank: 0 };
    for (const k of chooseMetrics(metrics, shape.tried, random)) {
      const size = values[k]?.length ?? 0;
      const rank = ranks[k] as Int32Array;
      counts.fill(0, 0, size);
      sums.fill(0, 0, size);
      for (const i of held) {
        const r = rank[i] as number;
        counts[r] = (counts[r] as number) + 1;
        sums[r] = (sums[r] as number) + (y[i] as number);
      }
      let left = 0;
      let leftSum = 0;
      for (let r = 0; r < size - 1; r++) {
        if (counts[r] === 0) continue;
        left += counts[r] as number;
        leftSum += sums[r] as number;
        const right = held.length - left;
        if (left < shape.fewestInLeaf) continue;
        if (right < shape.fewestInLeaf) break;
        const gain = (leftSum * leftSum) / left + (total - leftSum) ** 2 / right;
        if (gain > best.gain) best = { gain, metric: k, rank: r };
      }
    }
    return best;
  };

  const build = (held: Int32Array, depth: number): number => {
    const at = nodes.push(0) - 1;
    let total = 0;
    for (const i of held) total += y[i] as number;
    nodes[at] = total / held.length;
    if (depth >= shape.depth || held.length < shape.fewestToSplit) return at;
    const { metric, rank } = bestSplit(held, total);
    const [own, column] = [values[metric], ranks[metric]];
    if (!own || !column) return at;
    const left = held.filter((i) => (column[i] as number) <= rank);
    const right = held.filter((i) => (column[i] as number) > rank);
    const threshold = midpoint(own, column, right, rank);
    nodes[at] = [metric, threshold, build(left, depth + 1), build(right, depth + 1)];
    return at;
  };
  build(rows, 0);
  return nodes;
}

function midpoint(own: Float64Array, column: Int32Array, right: Int32Array, rank: number): number {
  let next = own.length - 1;
  for (const i of right) next = Math.min(next, column[i] as number);
  return ((own[rank] as number) + (own[next] as number)) / 2;
}

function chooseMetrics(
  metrics: readonly number[],
  count: number,
  random: Random,
): readonly number[] {
  if (count >= metrics.length) return metrics;
  const pool = [...metrics];
  for (let i = 0; i < count; i++) {
    const j = i + Math.floor(random() * (pool.length - i));
    [pool[i], pool[j]] = [pool[j] as number, pool[i] as number];
  }
  return pool.slice(0, count);
}
