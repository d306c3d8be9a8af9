// Kernels that Triton made of workloads/triton_kernels.py, as cases on small sizes: what they leave follows from
// their inputs, which are whole numbers for products.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Argument, DeviceMemory, type Extent, encode } from "#emulator";
import { type Func, type Module, parse } from "#ptx";
import { type Case, withVariants } from "./differential.ts";

/** The file that workloads/triton_kernels.py writes beside each kernel's PTX. */
export interface Captured {
  readonly kernel: string;
  readonly grid: Extent;
  readonly shared: number;
  /** Bytes of memory for each block, behind the arguments. */
  readonly scratch: number;
  readonly args: readonly (
    | { readonly kind: "buffer"; readonly bytes: number; readonly type: string }
    | { readonly kind: "scalar"; readonly type: string; readonly value: number }
  )[];
}

export interface CapturedCase extends Case {
  readonly name: string;
  readonly types: readonly string[];
  readonly scalars: readonly number[];
  readonly plain: Module;
}

/** Those in the repository, or the folder of a whole capture. */
const folder =
  process.env.COTENANT_CAPTURED ?? fileURLToPath(new URL("../corpus/triton", import.meta.url));

/** By the kernel's name: where its files are, without their extension. */
const paths: ReadonlyMap<string, string> = new Map(
  (existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: "utf8" }) : [])
    .filter((file) => file.endsWith(".json"))
    .map((file) => [basename(file, ".json"), join(folder, file.slice(0, -".json".length))]),
);

export const capturedNames = (): readonly string[] => [...paths.keys()].sort();

interface Small {
  readonly grid: Extent;
  /** In the order of the kernel's scalars. */
  readonly scalars: readonly number[];
  /** Elements of each buffer. */
  readonly sizes: readonly number[];
}

/** The launch made small; tiles are as large as they were. undefined: not one of these. */
function small({ kernel, grid, args }: Captured): Small | undefined {
  const scalars = args.flatMap((one) => (one.kind === "scalar" ? [one.value] : []));
  if (kernel.startsWith("matmul")) {
    const [m = 0, n = 0] = scalars;
    // Sizes that tiles don't divide stay such sizes.
    const odd = m % 64 !== 0;
    const tile = (size: number, blocks: number) => 2 ** Math.ceil(Math.log2(size / blocks));
    const single = kernel === "matmul_persistent";
    const [bm, bn] = single ? [128, 128] : [tile(m, grid[0]), tile(n, grid[1])];
    const [rows, columns, depth] = odd ? [bm + 32, 2 * bn - 24, 160] : [2 * bm, 2 * bn, 256];
    return {
      grid: single ? [4, 1, 1] : [2, 2, grid[2]],
      scalars: [rows, columns, depth],
      sizes: [rows * depth, depth * columns, rows * columns],
    };
  }
  if (kernel.startsWith("attention")) {
    const [scale = 0, length = 0] = scalars;
    const block = length / grid[0];
    const heads = 2;
    const width = (args[0]?.kind === "buffer" ? args[0].bytes : 0) / 2 / length / grid[1];
    const n = 2 * block;
    return {
      grid: [2, heads, 1],
      scalars: [scale, n],
      sizes: args.flatMap((one) =>
        one.kind === "buffer" ? [heads * n * (one.type === "float32" ? 1 : width)] : [],
      ),
    };
  }
  return rows.get(kernel);
}

/** Those that are neither products nor attention, on a few rows. */
const rows = new Map<string, Small>([
  ["barrier_by_hand", { grid: [3, 1, 1], scalars: [], sizes: [3 * 1024, 3 * 1024, 1] }],
  ["dropout", { grid: [4, 1, 1], scalars: [4000, 0.25, 1234], sizes: [4096, 4096] }],
  ["histogram", { grid: [2, 1, 1], scalars: [8192], sizes: [8192, 256] }],
  ["layer_norm", { grid: [4, 1, 1], scalars: [3000, 1e-5], sizes: [12000, 3000, 3000, 12000] }],
  ["scan_rows", { grid: [4, 1, 1], scalars: [2000], sizes: [8000, 8000] }],
  ["softmax_persistent", { grid: [3, 1, 1], scalars: [8, 2000], sizes: [16000, 16000] }],
  ["sort_rows", { grid: [3, 1, 1], scalars: [1024], sizes: [3072, 3072] }],
  [
    "weight_grad_locked",
    { grid: [4, 1, 1], scalars: [2048], sizes: [4 * 2048, 4 * 2048, 64 * 2048, 64] },
  ],
]);

/** Small whole numbers of all signs, by the place in the buffer. */
const value = (index: number, i: number) =>
  ((Math.imul(i + 1, 0x9e3779b1 + 2 * index) >>> 16) % 7) - 3;

/** e4m3's bits of 0 to 3. */
const bytesOfWhole = [0, 0x38, 0x40, 0x44];

function fill(type: string, count: number, index: number, scale: number): ArrayBufferView {
  const values = Array.from({ length: count }, (_, i) => value(index, i) * scale);
  switch (type) {
    case "bfloat16":
      return Uint16Array.from(values, (v) => encode(v, "bf16", "rn"));
    case "float16":
      return Uint16Array.from(values, (v) => encode(v, "f16", "rn"));
    case "float8_e4m3fn":
      return Uint8Array.from(
        values,
        (v) => (bytesOfWhole[Math.abs(v)] as number) | (v < 0 ? 0x80 : 0),
      );
    case "float32":
      return Float32Array.from(values);
    default:
      // Bins, counters and locks.
      return index === 0 ? Int32Array.from(values, Math.abs) : new Int32Array(count);
  }
}

/** The kernel with small arguments; undefined for one whose arguments are not known how to make small. */
export function capturedCase(name: string): CapturedCase | undefined {
  const path = paths.get(name) ?? join(folder, name);
  const captured = JSON.parse(readFileSync(`${path}.json`, "utf8")) as Captured;
  const { kernel, args, scratch } = captured;
  const reduced = small(captured);
  if (reduced === undefined) return undefined;
  const { grid, scalars, sizes } = reduced;
  const plain = parse(readFileSync(`${path}.ptx`, "latin1"));
  const func = plain.items.find(
    (item): item is Func => item.kind === "function" && item.name === kernel,
  );
  if (func === undefined) throw new Error(`${name}.ptx has no kernel ${kernel}`);
  const threads = func.directives.find((one) => one.name === ".reqntid")?.text ?? "128";
  const attention = kernel.startsWith("attention");
  return {
    name,
    plain,
    module: withVariants(plain),
    kernel,
    grid,
    block: [Number(threads.split(",")[0]), 1, 1],
    dynamicShared: captured.shared,
    types: args.flatMap((one) => (one.kind === "buffer" ? [one.type] : [])),
    scalars,
    fresh() {
      const memory = new DeviceMemory();
      const buffers: { address: number; bytes: number }[] = [];
      let [buffer, scalar] = [0, 0];
      const given = args.map((one): Argument => {
        if (one.kind === "scalar") return scalars[scalar++] ?? 0;
        const index = buffer++;
        const data = fill(one.type, sizes[index] ?? 0, index, attention ? 0.25 : 1);
        const address = memory.upload(data);
        buffers.push({ address, bytes: data.byteLength });
        return address;
      });
      // Behind a kernel's arguments Triton passes the addresses of scratch memory; mostly there is none.
      for (let i = given.length; i < func.params.length; i++) {
        const bytes = i === args.length ? scratch * grid[0] * grid[1] * grid[2] : 0;
        given.push(bytes > 0 ? memory.allocate(bytes) : 0);
      }
      return {
        memory,
        args: given,
        contents: () => buffers.map(({ address, bytes }) => memory.read(address, bytes)),
      };
    },
  };
}
