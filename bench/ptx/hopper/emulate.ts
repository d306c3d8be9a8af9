// Runs those of the mainloops on the emulator whose parameters can be made by hand: is the product the product, and do the
// variants leave the same, stopped after each claim? Usage: npx tsx bench/ptx/hopper/emulate.ts FOLDER [NAME...], of a
// folder that compile.sh has made; minutes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Argument, DeviceMemory, decode, encode, encodeTensorMap, launch } from "#emulator";
import { parse, preempt, slice } from "#ptx";
import { type Case, compare } from "../../../test/ptx/emulator/differential.ts";

const [, , folder = "", ...names] = process.argv;

/** Small whole numbers of all signs, whose sums are exact in any order. */
const whole = (seed: number, i: number) =>
  ((Math.imul(i + 1, 0x9e3779b1 + 2 * seed) >>> 16) % 5) - 2;
const halves = (count: number, seed: number) =>
  Uint16Array.from({ length: count }, (_, i) => encode(whole(seed, i), "f16", "rn"));

interface Shape {
  readonly rows: number;
  readonly columns: number;
}
/** As Triton's launcher passes a tensor of halves: its map, sizes and strides. */
function described(
  address: number,
  { rows, columns }: Shape,
  boxRows: number,
): readonly Argument[] {
  const map = {
    address,
    element: "f16",
    sizes: [columns, rows],
    strides: [2 * columns],
    box: [64, boxRows],
    swizzle: 128,
  } as const;
  return [encodeTensorMap(map), rows, columns, columns, 1];
}

interface Run extends Omit<Case, "module" | "kernel"> {
  /** Throws if the result is not what it should be. */
  check(contents: readonly Uint8Array[]): void;
}

function product(blockRows: number, threads: number, dynamicShared: number): Run {
  const [m, n, k] = [3 * blockRows, 256, 192];
  const a = halves(m * k, 1);
  const b = halves(n * k, 2);
  return {
    grid: [4, 1, 1],
    block: [threads, 1, 1],
    dynamicShared,
    fresh() {
      const memory = new DeviceMemory();
      const [from, other] = [memory.upload(a), memory.upload(b)];
      const to = memory.allocate(2 * m * n);
      const args = [
        ...described(from, { rows: m, columns: k }, blockRows),
        ...described(other, { rows: n, columns: k }, 128),
        ...described(to, { rows: m, columns: n }, blockRows),
        ...[m, n, k, 0, 0],
      ];
      return { memory, args, contents: () => [memory.read(to, 2 * m * n)] };
    },
    check([bytes = new Uint8Array()]) {
      const found = new Uint16Array(bytes.buffer, bytes.byteOffset, m * n);
      for (let i = 0; i < m * n; i += 1) {
        const [row, column] = [Math.floor(i / n), i % n];
        let wanted = 0;
        for (let at = 0; at < k; at += 1)
          wanted += whole(1, row * k + at) * whole(2, column * k + at);
        const is = decode.f16(found[i] ?? 0);
        if (is !== wanted) throw new Error(`row ${row}, column ${column}: ${is}, not ${wanted}`);
      }
    },
  };
}

function attention(blockRows: number, threads: number, dynamicShared: number): Run {
  const [heads, length, width] = [2, 2 * blockRows, 64];
  const rows = heads * length;
  const [q, k, v] = [1, 2, 3].map((seed) => halves(rows * width, seed)) as [
    Uint16Array,
    Uint16Array,
    Uint16Array,
  ];
  const scale = 1 / 16;
  return {
    grid: [2, heads, 1],
    block: [threads, 1, 1],
    dynamicShared,
    fresh() {
      const memory = new DeviceMemory();
      const addresses = [q, k, v].map((one) => memory.upload(one));
      const [to, logs] = [memory.allocate(2 * rows * width), memory.allocate(4 * rows)];
      const shape = { rows, columns: width };
      const args = [
        ...described(addresses[0] ?? 0, shape, blockRows),
        ...described(addresses[1] ?? 0, shape, 64),
        ...described(addresses[2] ?? 0, shape, 64),
        ...described(to, shape, blockRows),
        ...[logs, scale, length, 0, 0],
      ];
      const contents = () => [memory.read(to, 2 * rows * width), memory.read(logs, 4 * rows)];
      return { memory, args, contents };
    },
    check([bytes = new Uint8Array()]) {
      const found = new Uint16Array(bytes.buffer, bytes.byteOffset, rows * width);
      let worst = 0;
      for (let row = 0; row < rows; row += 7) {
        const first = Math.floor(row / length) * length;
        const weights = Array.from({ length }, (_, at) => {
          let sum = 0;
          for (let d = 0; d < width; d += 1)
            sum += whole(1, row * width + d) * whole(2, (first + at) * width + d);
          return 2 ** (sum * scale);
        });
        const total = weights.reduce((sum, one) => sum + one, 0);
        for (let d = 0; d < width; d += 5) {
          const sum = weights.reduce(
            (all, one, at) => all + one * whole(3, (first + at) * width + d),
            0,
          );
          worst = Math.max(worst, Math.abs(decode.f16(found[row * width + d] ?? 0) - sum / total));
        }
      }
      // Halves keep 11 bits of weights and results.
      if (!(worst < 1 / 256)) throw new Error(`off by ${worst}`);
    },
  };
}

/** e4m3's bits of -2 to 2. */
const eights = [0xc0, 0xb8, 0, 0x38, 0x40];
const bytes = (count: number, seed: number) =>
  Uint8Array.from({ length: count }, (_, i) => eights[whole(seed, i) + 2] ?? 0);

/** Groups of rows, each with its factors of 256 columns and a depth of 512, with scales for each 128 of it. */
function scaled(rowsOf: readonly number[], most: number): Run {
  const [n, k, lines] = [256, 512, 4];
  const groups = rowsOf.length;
  const m = most * groups;
  const a = bytes(m * k, 1);
  const b = bytes(groups * n * k, 2);
  const scaleOf = (i: number) => 2 ** (i % 3);
  // A line of scales has one for each row of a group.
  const scalesA = Float32Array.from({ length: groups * lines * most }, (_, i) => scaleOf(i));
  const scalesB = Float32Array.from({ length: (groups * n * lines) / 128 }, (_, i) =>
    scaleOf(i + 1),
  );
  return {
    grid: [3, 1, 1],
    block: [384, 1, 1],
    dynamicShared: 128 * 128 * (2 + 3 + 3) + 3 * 128 * 4 + 4 * lines + 3 * 16,
    fresh() {
      const memory = new DeviceMemory();
      const [from, other, scaleA, scaleB] = [a, b, scalesA, scalesB].map((one) =>
        memory.upload(one),
      );
      const lengths = memory.upload(Int32Array.from(rowsOf));
      const to = memory.allocate(2 * m * n);
      const input = new Uint8Array(16);
      new DataView(input.buffer).setUint32(0, most, true);
      new DataView(input.buffer).setBigUint64(8, BigInt(lengths), true);
      const factor = (address: number | undefined, rows: number) =>
        encodeTensorMap({
          address: address ?? 0,
          element: "u8",
          sizes: [k, rows],
          strides: [k],
          box: [128, 128],
          swizzle: 128,
        });
      const scales = {
        element: "f32",
        sizes: [most, groups * lines],
        strides: [4 * most],
      } as const;
      const result = { element: "bf16", sizes: [n, m], strides: [2 * n], box: [128, 128] } as const;
      const args = [
        ...[to, scaleB ?? 0, input, factor(from, m), factor(other, groups * n)],
        encodeTensorMap({ ...scales, address: scaleA ?? 0, box: [128, 1] }),
        encodeTensorMap({ ...result, address: to }),
      ];
      return { memory, args, contents: () => [memory.read(to, 2 * m * n)] };
    },
    check([all = new Uint8Array()]) {
      const found = new Uint16Array(all.buffer, all.byteOffset, m * n);
      rowsOf.forEach((rows, group) => {
        for (let row = 0; row < rows; row += 3)
          for (let column = 0; column < n; column += 1) {
            let wanted = 0;
            for (let line = 0; line < lines; line += 1) {
              let sum = 0;
              for (let at = 128 * line; at < 128 * (line + 1); at += 1)
                sum +=
                  whole(1, (group * most + row) * k + at) * whole(2, (group * n + column) * k + at);
              const ofA = scalesA[(group * lines + line) * most + row] ?? 0;
              const ofB =
                scalesB[((group * n) / 128 + Math.floor(column / 128)) * lines + line] ?? 0;
              wanted += sum * ofA * ofB;
            }
            const is = found[(group * most + row) * n + column];
            if (is !== encode(wanted, "bf16", "rn"))
              throw new Error(`group ${group}, row ${row}, column ${column}: ${is}, not ${wanted}`);
          }
      });
    },
  };
}

const runs: Readonly<Record<string, Run>> = {
  triton_matmul: product(128, 256, 131_096),
  triton_matmul_specialized: product(64, 384, 106_656),
  triton_attention: attention(128, 128, 65_592),
  triton_attention_specialized: attention(64, 384, 74_144),
  "deep_gemm_small 0": scaled([256], 256),
  "deep_gemm_small 1": scaled([100, 0, 128], 128),
};

for (const [name, run] of Object.entries(runs)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const [file = "", place = "0"] = name.split(" ");
  const module = parse(readFileSync(join(folder, "hopper-sm_90a", `${file}.ptx`), "latin1"));
  const kernel = module.items.filter((one) => one.kind === "function" && one.entry)[Number(place)];
  if (kernel?.kind !== "function") throw new Error(`${name} has no kernel`);
  const { memory, args, contents } = run.fresh();
  const { grid, block, dynamicShared = 0 } = run;
  launch(module, kernel.name, { grid, block, dynamicShared, args, memory });
  run.check(contents());
  const {
    variants,
    runs: count,
    resumed,
    differences,
  } = compare(
    { ...run, module: slice(preempt(module)), kernel: kernel.name },
    { workers: [1, 2], seeds: [0, 1], widths: [1], everyStop: true, stoppedBy: ["counter"] },
  );
  console.log(JSON.stringify({ name, variants, runs: count, resumed, differences }));
  if (differences.length > 0) process.exitCode = 1;
}
