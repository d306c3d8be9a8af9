// References of the corpus' kernels, written down plainly. Numbers in, numbers out; each buffer's values hold within
// `within`, relative to the size of its largest value.

/** Buffers as they were before the launch, in order, and the scalars. */
type Reference = (
  buffers: readonly (readonly number[])[],
  scalars: readonly number[],
) => readonly number[];

export interface Expected {
  /** Position of the buffer among the buffers. */
  readonly buffer: number;
  readonly values: Reference;
  /** 0: exactly. */
  readonly within: number;
}

const sum = (all: readonly number[]) => all.reduce((a, b) => a + b, 0);
const rows = (all: readonly number[], length: number) =>
  Array.from({ length: Math.ceil(all.length / length) }, (_, i) =>
    all.slice(i * length, (i + 1) * length),
  );
const range = (n: number) => Array.from({ length: n }, (_, i) => i);
const at = (all: readonly number[] | undefined, i: number): number => all?.[i] ?? 0;

function softmax(row: readonly number[]): number[] {
  const top = Math.max(...row);
  const parts = row.map((v) => Math.exp(v - top));
  return parts.map((p) => p / sum(parts));
}

function prefix(all: readonly number[]): number[] {
  let total = 0;
  return all.map((v) => (total += v));
}

function product(
  a: readonly number[],
  b: readonly number[],
  m: number,
  n: number,
  k: number,
): number[] {
  return range(m * n).map((i) =>
    sum(range(k).map((j) => at(a, Math.floor(i / n) * k + j) * at(b, j * n + (i % n)))),
  );
}

/** a b^T, both in rows of k. */
const productOfRows = (a: readonly number[], b: readonly number[], n: number, k: number) =>
  range((a.length / k) * n).map((i) =>
    sum(range(k).map((j) => at(a, Math.floor(i / n) * k + j) * at(b, (i % n) * k + j))),
  );

/** Counts of the keys 0 to `bins` - 1. */
const counts = (keys: readonly number[], bins: number): number[] =>
  range(bins).map((bin) => keys.filter((key) => key === bin).length);

const fibonacci = (n: number): number => (n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2));

const collatz = (start: number): number => {
  let [v, steps] = [start, 0];
  for (; v > 1 && steps < 200; steps++) v = v % 2 === 0 ? v / 2 : 3 * v + 1;
  return steps;
};

const exactly = (buffer: number, values: Reference): Expected => ({ buffer, values, within: 0 });
const about = (buffer: number, values: Reference, within = 1e-5): Expected => ({
  buffer,
  values,
  within,
});

export const references: Readonly<Record<string, Expected>> = {
  saxpy: about(1, ([x = [], y = []], [, a = 0]) => x.map((v, i) => a * v + at(y, i))),
  relu_vec4: exactly(1, ([x = []]) => x.map((v) => Math.max(v, 0))),
  exp_grid_stride: about(1, ([x = []]) => x.map((v) => Math.exp(v) + 3)),
  gelu_bf16: about(
    1,
    ([x = []]) => x.map((v) => 0.5 * v * (1 + Math.tanh(0.79788456 * (v + 0.044715 * v ** 3)))),
    4e-3,
  ),
  quantize_int8: exactly(1, ([x = []]) =>
    x.map((v) => {
      const scaled = v * 64;
      const low = Math.floor(scaled);
      const near = scaled - low === 0.5 ? low + Math.abs(low % 2) : Math.round(scaled);
      return Math.max(-128, Math.min(127, near));
    }),
  ),
  clamp_f64: about(1, ([x = []]) => x.map((v) => Math.min(2, Math.max(-0.25, v * v - 0.5))), 1e-15),
  complex_mul: about(2, ([a = [], b = []]) =>
    range(a.length).map((i) => {
      const [p, q] = [i & ~1, i | 1];
      return i % 2 === 0
        ? at(a, p) * at(b, p) - at(a, q) * at(b, q)
        : at(a, p) * at(b, q) + at(a, q) * at(b, p);
    }),
  ),
  transpose_tiled: exactly(1, ([x = []], [r = 0, c = 0]) =>
    range(r * c).map((i) => at(x, (i % r) * c + Math.floor(i / r))),
  ),
  sum_shared: about(1, ([x = []]) => rows(x, 128).map(sum)),
  sum_warp: about(1, ([x = []]) => rows(x, 128).map(sum)),
  argmax_rows: exactly(1, ([x = []], [cols = 1]) =>
    rows(x, cols).map((row) => row.indexOf(Math.max(...row))),
  ),
  sum_atomic: exactly(1, ([x = []]) => [sum(x)]),
  sum_last_block: about(3, ([x = []]) => [sum(x)]),
  scan_block: exactly(1, ([x = []]) => rows(x, 128).flatMap(prefix)),
  scan_warp: exactly(1, ([x = []]) => rows(x, 128).flatMap(prefix)),
  scan_lookback: exactly(1, ([x = []]) => prefix(x)),
  scan_window: exactly(1, ([x = []]) => prefix(x)),
  scan_ticket: exactly(1, ([x = []]) => prefix(x)),
  matmul_tiled: about(2, ([a = [], b = []], [m = 0, n = 0, k = 0]) => product(a, b, m, n, k)),
  matmul_registers: about(2, ([a = [], b = []], [n = 0, k = 0]) => product(a, b, 32, n, k)),
  matmul_async: about(2, ([a = [], b = []], [n = 0, k = 0]) => product(a, b, 32, n, k)),
  matmul_batched_f64: about(
    2,
    ([a = [], b = []], [n = 0]) =>
      range(3).flatMap((z) =>
        product(a.slice(z * n * n, (z + 1) * n * n), b.slice(z * n * n, (z + 1) * n * n), n, n, n),
      ),
    1e-14,
  ),
  matmul_mma: about(2, ([a = [], b = []], [k = 1]) => productOfRows(a, b, 8, k)),
  wgmma_stored: exactly(2, ([a = [], b = []], [n = 1, k = 1]) => productOfRows(a, b, n, k)),
  wgmma_registers: exactly(2, ([a = [], b = [], c = []], [n = 1, k = 1]) =>
    product(a, b, a.length / k, n, k).map((sum, i) => at(c, i) - sum),
  ),
  wgmma_bytes: exactly(2, ([a = [], b = []], [n = 1]) => productOfRows(a, b, n, 32)),
  tensor_boxes: exactly(1, ([all = []], [width = 1, height = 1]) =>
    range(width * height).map((i) => {
      const [x, y] = [(i % width) - 4, Math.floor(i / width)];
      // Upside down in boxes of 8 rows, taken from 2 rows further up and 4 further left.
      const from = 16 * Math.floor(y / 8) + 5 - y;
      return (x >= 0 && from >= 0 && from < height ? at(all, from * width + x) : 0) + 1;
    }),
  ),
  bulk_sum: exactly(1, ([all = [], before = []]) =>
    before.map((v, i) => v + sum(range(3).map((block) => at(all, block * 64 + i)))),
  ),
  matmul_ldmatrix: about(2, ([a = [], b = []]) =>
    range(48 * 8).map((i) =>
      sum(range(16).map((j) => at(a, Math.floor(i / 8) * 16 + j) * at(b, (i % 8) * 16 + j))),
    ),
  ),
  softmax_row: about(1, ([x = []], [cols = 1]) => rows(x, cols).flatMap(softmax)),
  softmax_online: about(1, ([x = []], [cols = 1]) => rows(x, cols).flatMap(softmax)),
  layer_norm: about(3, ([x = [], weight = [], bias = []], [cols = 1, eps = 0]) =>
    rows(x, cols).flatMap((row) => {
      const mean = sum(row) / cols;
      const scale = 1 / Math.sqrt(sum(row.map((v) => (v - mean) ** 2)) / cols + eps);
      return row.map((v, i) => (v - mean) * scale * at(weight, i) + at(bias, i));
    }),
  ),
  rms_norm_half: about(
    1,
    ([x = []], [cols = 1]) =>
      rows(x, cols).flatMap((row) =>
        row.map((v) => v / Math.sqrt(sum(row.map((u) => u * u)) / cols + 1e-5)),
      ),
    1e-3,
  ),
  attention_online: about(3, ([q = [], k = [], v = []], [length = 0]) =>
    range(2).flatMap((head) =>
      range(length).flatMap((row) => {
        const base = head * length * 8;
        const weights = softmax(
          range(row + 1).map(
            (j) =>
              0.35355339 *
              sum(range(8).map((d) => at(q, base + row * 8 + d) * at(k, base + j * 8 + d))),
          ),
        );
        return range(8).map((d) => sum(weights.map((w, j) => w * at(v, base + j * 8 + d))));
      }),
    ),
  ),
  cross_entropy: about(2, ([x = [], target = []], [classes = 1]) =>
    rows(x, classes).map((row, i) => -Math.log(at(softmax(row), at(target, i)))),
  ),
  histogram_shared: exactly(1, ([x = []]) =>
    counts(
      x.map((v) => v % 64),
      64,
    ),
  ),
  histogram_global: exactly(1, ([x = []]) =>
    counts(
      x.map((v) => v & 31),
      32,
    ),
  ),
  histogram_match: exactly(1, ([x = []]) =>
    counts(
      x.map((v) => v & 15),
      16,
    ),
  ),
  sort_bitonic: exactly(0, ([x = []]) =>
    rows(x, 64).flatMap((row) => [...row].sort((a, b) => a - b)),
  ),
  top_of_row: exactly(1, ([x = []], [cols = 1]) =>
    rows(x, cols).flatMap((row) => {
      const best = range(32).map((lane) => Math.max(0, ...row.filter((_, c) => c % 32 === lane)));
      return [...best].sort((a, b) => b - a).slice(0, 4);
    }),
  ),
  exit_before_barrier: exactly(1, ([x = []], [n = 0]) =>
    x.map((_, i) => 2 * at(x, (i ^ 1) < n ? i ^ 1 : i)),
  ),
  collatz: exactly(1, ([x = []]) => x.map(collatz)),
  stencil_3d_shared: about(1, ([x = []], [nx = 0, ny = 0]) =>
    x.map((v, i) => {
      const [cx, cy] = [i % nx, Math.floor(i / nx) % ny];
      const side = (ok: boolean, by: number) => (ok ? at(x, i + by) : 0);
      return (
        v * 0.5 +
        0.125 *
          (side(cx > 0, -1) + side(cx + 1 < nx, 1) + side(cy > 0, -nx) + side(cy + 1 < ny, nx))
      );
    }),
  ),
  call_polynomial: about(1, ([x = []]) =>
    x.map((v, i) => {
      const poly = (degree: number) => sum(range(degree + 1).map((j) => (j + 1) * v ** j));
      return i % 3 === 0 ? poly(3) : poly(i % 5) + 1;
    }),
  ),
  call_recursive: exactly(1, ([x = []]) => x.map((v) => fibonacci(v % 7))),
  call_pointer: exactly(1, ([x = []]) =>
    x.map((v, i) => (i % 3 === 0 ? 2 * v : i % 3 === 1 ? Math.fround(v * v) : -v)),
  ),
  struct_parameter: about(1, ([x = []]) =>
    x.map((v, i) => v * 1.5 + at([1, -2, 3, -4], i % 4) * 4 + 0.5),
  ),
  local_array: exactly(1, ([x = []]) =>
    x.map((v, i) =>
      at(
        range(16)
          .map((k) => at(x, (i + k) % x.length))
          .sort((a, b) => a - b),
        v & 15,
      ),
    ),
  ),
  tile_groups: exactly(1, ([x = []]) =>
    rows(x, 8).flatMap((row) => row.map((_, i) => sum(row) * 10 + i)),
  ),
  aggregate_atomic: exactly(1, ([x = []]) => [x.filter((v) => v % 2 === 0).length]),
  atomic_floats: exactly(1, ([x = []]) =>
    range(4).map((c) => sum(x.filter((_, i) => i % 4 === c))),
  ),
  atomic_cas_max: exactly(1, ([x = []]) =>
    range(3).map((c) => Math.max(...x.filter((_, i) => i % 3 === c))),
  ),
  named_barriers: exactly(1, ([x = []], [rounds = 1]) =>
    range(96).map((i) =>
      sum(range(rounds).map((r) => at(x, (Math.floor(i / 32) * rounds + r) * 32 + 31 - (i % 32)))),
    ),
  ),
  barrier_reductions: exactly(1, ([x = []]) =>
    rows(x, 96).flatMap((row) => {
      const count = row.filter((v) => v > 3).length;
      return row.map(() => count * 4 + (count === 96 ? 2 : 0) + (count < 96 ? 1 : 0));
    }),
  ),
  copy_pipeline: exactly(1, ([x = []]) =>
    rows(x, 128).flatMap((tile) =>
      range(128).map((i) => at(tile, ((i >> 2) ^ 1) * 4 + 3 - (i & 3))),
    ),
  ),
  copy_zero_fill: exactly(1, ([x = []], [n = 0]) =>
    range(192).map((i) => (mirror(i) < n ? at(x, mirror(i)) : 0)),
  ),
  generic_pointers: exactly(1, ([x = []]) =>
    x.map((_, i) => {
      const [t, block] = [i % 32, i - (i % 32)];
      if (t % 3 === 0) return at(x, block + 31 - t) * 3;
      return t % 3 === 1 ? at(x, t) : at([t, t + 1, t + 2, t * t], at(x, t) & 3);
    }),
  ),
  lock_between_blocks: exactly(1, ([, , x = []]) => [sum(x)]),
};

/** The place that its block's reversal takes element i from. */
const mirror = (i: number): number => i - (i % 64) + 63 - (i % 64);
