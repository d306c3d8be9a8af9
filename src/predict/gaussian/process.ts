// This is a Gaussian process over (target, neighbour, their SM shares). Targets with similar metrics
// suffer similarly, and neighbours with similar metrics burden similarly; beyond that sum
//
//    k = amplitude x shares x (1 + near(targets) + near(neighbours)
//        + interplay x near(targets) x near(neighbours))
//    near(a, b) = exp(-gap / 2 reach^2) + own x exp(-gap / 2 SAME^2)
//    gap = mean over metrics of (a - b)^2
//
// The second part of `near` is what a workload has of its own, which others do not inform about.
// An incomplete Cholesky factor with pivots bounds the cost by `basis`. Each pivot is the point that
// those chosen so far leave most uncertain; with as many pivots as points it is exact.
import { backward, dot, factor, forward } from "./cholesky.ts";

/** `target` and `neighbour` are rows of the closeness table; shares are logarithms. */
export interface Points {
  readonly target: Int32Array;
  readonly neighbour: Int32Array;
  readonly targetShare: Float64Array;
  readonly neighbourShare: Float64Array;
}

export interface Kernel {
  readonly reach: number;
  readonly own: number;
  readonly shareReach: number;
  readonly interplay: number;
  readonly amplitude: number;
}

export interface Fitted {
  readonly pivots: Int32Array;
  /** It is the lower factor of the pivots' kernel matrix. */
  readonly lower: Float64Array;
  /** They are in the coordinates that the pivots span. */
  readonly weights: Float64Array;
  /** It is the lower factor of the weights' posterior precision. */
  readonly precision: Float64Array;
  /** A point is predicted as if its group had not been learned from, on the scale of `y`. */
  readonly leftOut: Moments;
  /** The same for these points, as if none of them had been learned from. */
  without(these: readonly number[]): Moments;
}

interface Moments {
  readonly mean: Float64Array;
  readonly variance: Float64Array;
}

/** It is the mean squared distance over the metrics of standardised workloads, row by row. */
export function gaps(a: Float64Array, b: Float64Array, metrics: number): Float64Array {
  const rows = a.length / metrics;
  const columns = b.length / metrics;
  const found = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) {
      let sum = 0;
      for (let k = 0; k < metrics; k++) {
        const gap = (a[i * metrics + k] as number) - (b[j * metrics + k] as number);
        sum += gap * gap;
      }
      found[i * columns + j] = sum / metrics;
    }
  return found;
}

export const closeness = (
  between: Float64Array,
  { reach, own }: Pick<Kernel, "reach" | "own">,
): Float64Array =>
  between.map(
    (gap) => Math.exp(-gap / (2 * reach * reach)) + own * Math.exp(-gap / (2 * SAME * SAME)),
  );

/** It is in standard units: two workloads within it are the same one, profiled twice. */
const SAME = 0.05;

export const isSame = (gap: number): boolean => gap <= SAME * SAME;

/** `targets`, `neighbours`: how near they are. `shares`: squared distance of logarithms. */
export const covariance = (kernel: Kernel, targets: number, neighbours: number, shares: number) => {
  const likeness =
    kernel.amplitude * (1 + targets + neighbours + kernel.interplay * targets * neighbours);
  return shares === 0
    ? likeness
    : likeness * Math.exp(-shares / (2 * kernel.shareReach * kernel.shareReach));
};

export const ownVariance = ({ own, interplay, amplitude }: Kernel): number =>
  amplitude * (1 + 2 * (1 + own) + interplay * (1 + own) ** 2);

/** `noise`: variances. Points that are left out together have equal, consecutive `groups`. */
export function fitPoints(
  points: Points,
  near: Float64Array,
  kernel: Kernel,
  y: Float64Array,
  noise: Float64Array,
  groups: Int32Array,
  basis: number,
): Fitted {
  const n = y.length;
  const { phi, pivots, left } = choosePivots(points, near, kernel, basis);
  const m = pivots.length;
  const doubt = noise.map((value, i) => value + Math.max(0, left[i] as number));
  const { weights, precision } = regress(
    phi,
    m,
    y,
    doubt.map((value) => 1 / value),
  );
  const lower = new Float64Array(m * m);
  pivots.forEach((pivot, row) => {
    lower.set(phi.subarray(pivot * m, (pivot + 1) * m), row * m);
  });
  const mean = new Float64Array(n);
  const variance = new Float64Array(n);
  for (let from = 0; from < n; ) {
    let to = from + 1;
    while (to < n && groups[to] === groups[from]) to++;
    leaveOut(phi, m, y, doubt, weights, precision, from, to, mean, variance);
    for (let i = from; i < to; i++)
      variance[i] = (variance[i] as number) + Math.max(0, left[i] as number);
    from = to;
  }
  return {
    pivots,
    lower,
    weights,
    precision,
    leftOut: { mean, variance },
    without: (these) => {
      const out = new Set(these);
      const trust = Float64Array.from(doubt, (value, i) => (out.has(i) ? 0 : 1 / value));
      const rest = regress(phi, m, y, trust);
      const row = new Float64Array(m);
      const moments = these.map((i) => {
        row.set(phi.subarray(i * m, (i + 1) * m));
        const expected = dot(row, 0, rest.weights, 0, m);
        forward(rest.precision, m, row);
        return [expected, dot(row, 0, row, 0, m) + Math.max(0, left[i] as number)] as const;
      });
      return {
        mean: Float64Array.from(moments, ([one]) => one),
        variance: Float64Array.from(moments, ([, one]) => one),
      };
    },
  };
}

/** Rows of `phi` are points in the pivots' coordinates; `left` is the variance outside of them. */
function choosePivots(points: Points, near: Float64Array, kernel: Kernel, basis: number) {
  const { target, neighbour, targetShare, neighbourShare } = points;
  const n = target.length;
  const workloads = Math.sqrt(near.length);
  const left = new Float64Array(n).fill(ownVariance(kernel));
  const most = Math.min(n, basis);
  const columns: Float64Array[] = [];
  const pivots: number[] = [];
  while (pivots.length < most) {
    let pivot = 0;
    for (let i = 1; i < n; i++) if ((left[i] as number) > (left[pivot] as number)) pivot = i;
    const scale = left[pivot] as number;
    if (scale < NEGLIGIBLE) break;
    const column = new Float64Array(n);
    const nearTarget = (target[pivot] as number) * workloads;
    const nearNeighbour = (neighbour[pivot] as number) * workloads;
    for (let i = 0; i < n; i++) {
      const gapTarget = (targetShare[i] as number) - (targetShare[pivot] as number);
      const gapNeighbour = (neighbourShare[i] as number) - (neighbourShare[pivot] as number);
      column[i] = covariance(
        kernel,
        near[nearTarget + (target[i] as number)] as number,
        near[nearNeighbour + (neighbour[i] as number)] as number,
        gapTarget * gapTarget + gapNeighbour * gapNeighbour,
      );
    }
    for (const earlier of columns) {
      const factorAtPivot = earlier[pivot] as number;
      for (let i = 0; i < n; i++)
        column[i] = (column[i] as number) - factorAtPivot * (earlier[i] as number);
    }
    const root = Math.sqrt(scale);
    for (let i = 0; i < n; i++) {
      const value = (column[i] as number) / root;
      column[i] = value;
      left[i] = (left[i] as number) - value * value;
    }
    columns.push(column);
    pivots.push(pivot);
  }
  const m = pivots.length;
  const phi = new Float64Array(n * m);
  columns.forEach((column, c) => {
    for (let i = 0; i < n; i++) phi[i * m + c] = column[i] as number;
  });
  return { phi, pivots: Int32Array.from(pivots), left };
}

const NEGLIGIBLE = 1e-4;

/**
 * The prior variance of weights is 1. `trusts`: 1
 *
 * variance of the noise.
 */
function regress(phi: Float64Array, m: number, y: Float64Array, trusts: Float64Array) {
  const n = y.length;
  const normal = new Float64Array(m * m);
  const weights = new Float64Array(m);
  for (let i = 0; i < n; i++) {
    const row = i * m;
    const trust = trusts[i] as number;
    if (trust === 0) continue;
    for (let a = 0; a < m; a++) {
      const scaled = (phi[row + a] as number) * trust;
      weights[a] = (weights[a] as number) + scaled * (y[i] as number);
      for (let b = 0; b <= a; b++)
        normal[a * m + b] = (normal[a * m + b] as number) + scaled * (phi[row + b] as number);
    }
  }
  for (let a = 0; a < m; a++) normal[a * m + a] = (normal[a * m + a] as number) + 1;
  const precision = factor(normal, m);
  forward(precision, m, weights);
  backward(precision, m, weights);
  return { weights, precision };
}

function leaveOut(
  phi: Float64Array,
  m: number,
  y: Float64Array,
  noise: Float64Array,
  weights: Float64Array,
  precision: Float64Array,
  from: number,
  to: number,
  mean: Float64Array,
  variance: Float64Array,
): void {
  // With H this group's block of the smoother, the residual without it is (I - H)^-1 times that
  // with.
  const size = to - from;
  const solved = phi.slice(from * m, to * m);
  for (let i = 0; i < size; i++) forward(precision, m, solved, i * m);
  const rest = new Float64Array(size * size);
  const misfit = new Float64Array(size);
  for (let i = 0; i < size; i++) {
    const deviation = Math.sqrt(noise[from + i] as number);
    misfit[i] = ((y[from + i] as number) - dot(phi, (from + i) * m, weights, 0, m)) / deviation;
    for (let j = 0; j <= i; j++) {
      const shared = dot(solved, i * m, solved, j * m, m);
      rest[i * size + j] =
        (i === j ? 1 : 0) - shared / deviation / Math.sqrt(noise[from + j] as number);
    }
  }
  for (let i = 0; i < size; i++) {
    const own = dot(solved, i * m, solved, i * m, m);
    variance[from + i] = own / Math.max(SMALLEST_REST, rest[i * size + i] as number);
  }
  const lower = factor(rest, size);
  forward(lower, size, misfit);
  backward(lower, size, misfit);
  for (let i = 0; i < size; i++)
    mean[from + i] =
      (y[from + i] as number) - (misfit[i] as number) * Math.sqrt(noise[from + i] as number);
}

/** Keeps the variance finite for a point that determines its own fit alone. */
const SMALLEST_REST = 1e-3;

/** With a point's kernel k to the pivots, the mean is k·alpha and the variance own + kᵀQk. */
export interface Readout {
  readonly alpha: Float64Array;
  /** It is the lower half of the symmetric Q. Elements off the diagonal are doubled. */
  readonly spread: Float64Array;
}

export function readout({ pivots, lower, weights, precision }: Fitted): Readout {
  const m = pivots.length;
  const alpha = weights.slice();
  backward(lower, m, alpha);
  // They are columns of L^-1 and of (L_A)^-1 L^-1, each stored as a row.
  const spans = new Float64Array(m * m);
  for (let c = 0; c < m; c++) {
    spans[c * m + c] = 1;
    forward(lower, m, spans, c * m);
  }
  const known = spans.slice();
  for (let c = 0; c < m; c++) forward(precision, m, known, c * m);
  const spread = new Float64Array(m * m);
  for (let a = 0; a < m; a++)
    for (let b = 0; b <= a; b++)
      spread[a * m + b] =
        (a === b ? 1 : 2) *
        (dot(known, a * m, known, b * m, m) - dot(spans, a * m, spans, b * m, m));
  return { alpha, spread };
}

export function quadratic({ spread }: Readout, k: Float64Array): number {
  const m = k.length;
  let sum = 0;
  for (let i = 0; i < m; i++) sum += (k[i] as number) * dot(spread, i * m, k, 0, i + 1);
  return sum;
}
