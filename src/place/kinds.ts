// Kinds with counts are a transportation problem, solved by successive shortest paths (Ahuja,
// Magnanti, Orlin, "Network Flows", 9.7). The gain of paths never grows, so the first one without a
// gain ends the search.

export interface KindsProblem {
  readonly rows: readonly number[];
  readonly columns: readonly number[];
  readonly weights: Float64Array;
}

export function assignKinds({ rows, columns, weights }: KindsProblem): Int32Array {
  if (weights.length !== rows.length * columns.length)
    throw new RangeError(
      `${weights.length} weights for ${rows.length} kinds of rows and ${columns.length} of columns`,
    );
  const network = networkOf(rows, columns, weights);
  for (;;) {
    const path = cheapestPath(network);
    if (!path) return network.flow;
    push(network, path);
  }
}

const ROUNDING = 1e-12;

interface Network {
  readonly m: number;
  readonly n: number;
  readonly weights: Float64Array;
  readonly flow: Int32Array;
  readonly supply: Float64Array;
  readonly demand: Float64Array;
  readonly potential: Float64Array;
  readonly distance: Float64Array;
  readonly before: Int32Array;
  readonly done: Uint8Array;
  readonly least: number;
}

const at = (numbers: Float64Array | Int32Array | Uint8Array, index: number): number =>
  numbers[index] as number;

function networkOf(
  rows: readonly number[],
  columns: readonly number[],
  weights: Float64Array,
): Network {
  const m = rows.length;
  const n = columns.length;
  const potential = new Float64Array(m + n + 1);
  let largest = 0;
  for (let i = 0; i < m; i++)
    for (let j = 0; j < n; j++) {
      const weight = at(weights, i * n + j);
      if (!(weight > 0)) continue;
      potential[m + j] = Math.min(at(potential, m + j), -weight);
      largest = Math.max(largest, weight);
    }
  potential[m + n] = -largest;
  return {
    m,
    n,
    weights,
    flow: new Int32Array(m * n),
    supply: Float64Array.from(rows),
    demand: Float64Array.from(columns),
    potential,
    distance: new Float64Array(m + n),
    before: new Int32Array(m + n),
    done: new Uint8Array(m + n),
    least: largest * ROUNDING,
  };
}

const SOURCE = -1;

function cheapestPath(network: Network): number | undefined {
  const { m, n, weights, flow, supply, demand, potential, distance, before, done } = network;
  const nodes = m + n;
  distance.fill(Number.POSITIVE_INFINITY);
  done.fill(0);
  for (let i = 0; i < m; i++)
    if (at(supply, i) > 0) {
      distance[i] = Math.max(0, -at(potential, i));
      before[i] = SOURCE;
    }
  for (;;) {
    let node = -1;
    let nearest = Number.POSITIVE_INFINITY;
    for (let k = 0; k < nodes; k++)
      if (done[k] === 0 && at(distance, k) < nearest) {
        nearest = at(distance, k);
        node = k;
      }
    if (node < 0) break;
    done[node] = 1;
    const isRow = node < m;
    const count = isRow ? n : m;
    for (let k = 0; k < count; k++) {
      const [i, j, next] = isRow ? [node, k, m + k] : [k, node - m, k];
      const weight = at(weights, i * n + j);
      if (!(weight > 0) || done[next] === 1) continue;
      if (!isRow && at(flow, i * n + j) === 0) continue;
      const cost = (isRow ? -weight : weight) + at(potential, node) - at(potential, next);
      const through = nearest + Math.max(0, cost);
      if (through >= at(distance, next)) continue;
      distance[next] = through;
      before[next] = node;
    }
  }
  let end = -1;
  let cost = Number.POSITIVE_INFINITY;
  for (let j = 0; j < n; j++) {
    const here = at(distance, m + j) + at(potential, m + j);
    if (at(demand, j) > 0 && here < cost) {
      cost = here;
      end = m + j;
    }
  }
  if (end < 0 || -cost <= network.least) return undefined;
  const step = Math.max(0, cost - at(potential, nodes));
  for (let k = 0; k < nodes; k++) potential[k] = at(potential, k) + Math.min(at(distance, k), step);
  potential[nodes] = at(potential, nodes) + step;
  return end;
}

function push({ m, n, flow, supply, demand, before }: Network, end: number): void {
  let amount = at(demand, end - m);
  let first = end;
  for (let node = end; ; node = at(before, node)) {
    const from = at(before, node);
    if (from === SOURCE) {
      first = node;
      break;
    }
    if (node < m) amount = Math.min(amount, at(flow, node * n + (from - m)));
  }
  amount = Math.min(amount, at(supply, first));
  for (let node = end; at(before, node) !== SOURCE; node = at(before, node)) {
    const from = at(before, node);
    if (node < m) {
      const edge = node * n + (from - m);
      flow[edge] = at(flow, edge) - amount;
    } else {
      const edge = from * n + (node - m);
      flow[edge] = at(flow, edge) + amount;
    }
  }
  supply[first] = at(supply, first) - amount;
  demand[end - m] = at(demand, end - m) - amount;
}
