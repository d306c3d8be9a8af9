// Rows of a kernel matrix are so short that plain loops are faster than a matrix library.

/** A = L Lᵀ, n x n. If rounding makes a diagonal too small, it is raised. */
export function factor(a: Float64Array, n: number): Float64Array {
  const l = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const sum = at(a, i * n + j) - dot(l, i * n, l, j * n, j);
      l[i * n + j] = i === j ? Math.sqrt(Math.max(sum, TINY)) : sum / at(l, j * n + j);
    }
  }
  return l;
}

const TINY = 1e-12;

/** Solves L x = b in place. `from`: where b begins. */
export function forward(l: Float64Array, n: number, b: Float64Array, from = 0): void {
  for (let i = 0; i < n; i++) {
    b[from + i] = (at(b, from + i) - dot(l, i * n, b, from, i)) / at(l, i * n + i);
  }
}

export function backward(l: Float64Array, n: number, b: Float64Array): void {
  for (let i = n - 1; i >= 0; i--) {
    let sum = at(b, i);
    for (let k = i + 1; k < n; k++) sum -= at(l, k * n + i) * at(b, k);
    b[i] = sum / at(l, i * n + i);
  }
}

export const at = (values: ArrayLike<number>, i: number): number => values[i] as number;

/** Four independent sums do not wait for each other; an array of them is three times as slow. */
export function dot(
  a: Float64Array,
  i: number,
  b: Float64Array,
  j: number,
  length: number,
): number {
  let s = 0;
  let t = 0;
  let u = 0;
  let v = 0;
  let k = 0;
  for (; k + 3 < length; k += 4) {
    s += at(a, i + k) * at(b, j + k);
    t += at(a, i + k + 1) * at(b, j + k + 1);
    u += at(a, i + k + 2) * at(b, j + k + 2);
    v += at(a, i + k + 3) * at(b, j + k + 3);
  }
  for (; k < length; k++) s += at(a, i + k) * at(b, j + k);
  return s + t + (u + v);
}
