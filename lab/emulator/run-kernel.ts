// Runs one kernel whose arguments are written as text, as `ptx run --arg` takes them, and returns its memory.
import { usage } from "#core";
import type { Module } from "#ptx";
import { type Extent, launch } from "./launch.ts";
import { DeviceMemory } from "./machine/memory.ts";
import type { Argument } from "./parameters.ts";

export interface RunOptions {
  readonly kernel: string | undefined;
  readonly grid: string;
  readonly block: string;
  /** Bytes of dynamic shared memory. */
  readonly shared: number;
  readonly arg: readonly string[];
  readonly seed: number;
  /** How many values of each memory the result shows. */
  readonly show: number;
}

export interface Ran {
  readonly kernel: string;
  /** The sum over all threads. */
  readonly instructions: number;
  readonly printed: readonly string[];
  readonly memories: readonly {
    /** The number of the argument, from 0. */
    readonly argument: number;
    readonly type: string;
    readonly count: number;
    /** The first values. */
    readonly values: readonly number[];
  }[];
}

export function runKernel(module: Module, file: string, args: RunOptions): Ran {
  const kernel = kernelOf(module, file, args.kernel);
  const memory = new DeviceMemory();
  const given = args.arg.map(argumentOf);
  const placed = given.map((one) =>
    "array" in one ? { ...one, address: memory.upload(one.array) } : one,
  );
  const { instructions, printed } = launch(module, kernel, {
    grid: extent(args.grid, "--grid"),
    block: extent(args.block, "--block"),
    dynamicShared: args.shared,
    args: placed.map((one): Argument => ("address" in one ? one.address : one.scalar)),
    memory,
    seed: args.seed,
  });
  const memories = placed.flatMap((one, argument) => {
    if (!("address" in one)) return [];
    const bytes = memory.read(one.address, one.array.byteLength);
    const values = [...arrays[one.type](bytes.buffer)].slice(0, args.show);
    return [{ argument, type: one.type, count: one.array.length, values }];
  });
  return { kernel, instructions, printed, memories };
}

function kernelOf(module: Module, file: string, wanted: string | undefined): string {
  const names = module.items.flatMap((one) =>
    one.kind === "function" && one.entry && one.body !== undefined ? [one.name] : [],
  );
  const [first, second] = names;
  if (wanted !== undefined) {
    if (names.includes(wanted)) return wanted;
    throw usage(`${file} has no kernel ${wanted}.`, `There: ${names.join(", ") || "none"}.`);
  }
  if (first === undefined) throw usage(`${file} has no kernel.`);
  if (second === undefined) return first;
  throw usage(
    `${file} has ${names.length} kernels.`,
    `Say which with --kernel: ${names.join(", ")}.`,
  );
}

/** Types of memory that arguments may have. */
const arrays = {
  u8: (bytes: ArrayBuffer) => new Uint8Array(bytes),
  u32: (bytes: ArrayBuffer) => new Uint32Array(bytes),
  s32: (bytes: ArrayBuffer) => new Int32Array(bytes),
  f32: (bytes: ArrayBuffer) => new Float32Array(bytes),
  f64: (bytes: ArrayBuffer) => new Float64Array(bytes),
} as const;
type ArrayType = keyof typeof arrays;
const isArrayType = (text: string): text is ArrayType => text in arrays;

const elementBytes: Readonly<Record<ArrayType, number>> = { u8: 1, u32: 4, s32: 4, f32: 4, f64: 8 };

/** More would take the emulator minutes. */
const MAX_ELEMENTS = 1 << 24;

const [MAX_X, MAX_YZ] = [2 ** 31 - 1, 65_535];

type KernelArgument =
  | { readonly scalar: number | bigint }
  | { readonly type: ArrayType; readonly array: ReturnType<(typeof arrays)[ArrayType]> };

/** Such as "7", "0.5", "u32[64]", "f32[64]=1.5", "s32[8]=iota". */
function argumentOf(text: string): KernelArgument {
  const memory = /^(\w+)\[(\d+)\](?:=(\S+))?$/.exec(text);
  if (memory === null) {
    if (/^-?\d+$/.test(text)) return { scalar: BigInt(text) };
    const scalar = Number(text);
    if (text.trim() === "" || Number.isNaN(scalar)) throw badArgument(text);
    return { scalar };
  }
  const [, type = "", digits = "", fill = "0"] = memory;
  const count = Number(digits);
  const value = Number(fill);
  if (!isArrayType(type) || count === 0) throw badArgument(text);
  if (count > MAX_ELEMENTS)
    throw usage(`--arg ${text}: more than ${MAX_ELEMENTS} values.`, "Give it less memory.");
  if (fill !== "iota" && Number.isNaN(value)) throw badArgument(text);
  const array = arrays[type](new ArrayBuffer(count * elementBytes[type]));
  for (let i = 0; i < count; i += 1) array[i] = fill === "iota" ? i : value;
  if (fill !== "iota" && /^[su]/.test(type) && array[0] !== value)
    throw usage(`--arg ${text}: ${fill} is no ${type}.`);
  return { type, array };
}

const badArgument = (text: string) =>
  usage(
    `--arg ${text}: neither a number nor memory.`,
    `Memory is ${Object.keys(arrays).join(", ")} with a count: f32[64], f32[64]=1.5, s32[64]=iota.`,
  );

function extent(text: string, option: string): Extent {
  const [x = 1, y = 1, z = 1, more] = text.split(",").map(Number);
  const whole = [x, y, z].every((one) => Number.isInteger(one) && one > 0);
  if (!whole || more !== undefined)
    throw usage(`${option} ${text}: not one to three whole numbers such as 64 or 8,8,4.`);
  if (x > MAX_X || y > MAX_YZ || z > MAX_YZ)
    throw usage(`${option} ${text}: CUDA's grids end at ${MAX_X},${MAX_YZ},${MAX_YZ}.`);
  return [x, y, z];
}
