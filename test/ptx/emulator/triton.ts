// Kernels that Triton made, as cases: those in test/data, or more in COTENANT_DATA. Their arguments are made
// up: every pointer gets a buffer of its own, every number is the same.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DeviceMemory, launch } from "#emulator";
import { type Func, type Module, parse } from "#ptx";
import { type Case, withVariants } from "./differential.ts";

const folder = join(process.env.COTENANT_DATA ?? "test/data", "ptx-triton");

export const tritonFiles = (): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".ptx"))
    .sort();

interface Guess {
  /** Bytes of each buffer, but for that of the pointer at `large`, counted among the pointers. */
  readonly bytes: number;
  readonly large?: number;
  /** Contents of buffers: floats in [-1, 1], or zeros, which are also small indices. */
  readonly fill: "floats" | "zeros";
  /** The value of every scalar. */
  readonly scalar: number;
  readonly blocks: number;
}

/** Tried in this order until the kernel stays inside its buffers; last with one that holds rows of a vocabulary. */
const guesses: readonly Guess[] = [
  ...(["floats", "zeros"] as const).flatMap((fill) =>
    [1 << 18, 1 << 23].flatMap((bytes) =>
      [1024, 64].map((scalar) => ({ bytes, fill, scalar, blocks: 4 })),
    ),
  ),
  ...Array.from({ length: 8 }, (_, large) => ({
    bytes: 1 << 18,
    large,
    fill: "zeros" as const,
    scalar: 1024,
    blocks: 4,
  })),
];

const LARGE = 1 << 27;

/** Bytes of the buffer of a pointer, counted among the pointers. */
export const bufferBytes = ({ bytes, large }: Guess, position: number): number =>
  position === large ? LARGE : bytes;

const SHARED = 48 * 1024;

/** A case, and how its arguments were made up: for whoever makes the same ones on a GPU. */
export interface TritonCase extends Case {
  readonly guess: Guess;
  /** Types of the kernel's parameters. */
  readonly params: readonly string[];
  /** The module without variants. */
  readonly plain: Module;
}

function tritonModule(file: string): { plain: Module; module: Module; kernel: Func } {
  const plain = parse(readFileSync(join(folder, file), "latin1"));
  const module = withVariants(plain);
  const kernel = module.items.find((item) => item.kind === "function" && item.entry);
  if (kernel?.kind !== "function") throw new Error(`${file} has no kernel`);
  return { plain, module, kernel };
}

function tritonCase(plain: Module, module: Module, kernel: Func, guess: Guess): TritonCase {
  const threads = kernel.directives.find(({ name }) => name === ".reqntid" || name === ".maxntid");
  const block = Number(threads?.text.split(",")[0] ?? 128);
  const data = new Float32Array(guess.bytes / 4);
  if (guess.fill === "floats")
    for (let i = 0; i < data.length; i++)
      data[i] = ((Math.imul(i + 1, 0x9e3779b1) >>> 8) & 0xffff) / 32768 - 1;
  return {
    plain,
    guess,
    params: kernel.params.map(({ type }) => type),
    module,
    kernel: kernel.name,
    grid: [guess.blocks, 1, 1],
    block: [block, 1, 1],
    dynamicShared: SHARED,
    fresh() {
      const memory = new DeviceMemory();
      const buffers: { address: number; bytes: number }[] = [];
      const args = kernel.params.map(({ type }) => {
        if (!/64$/.test(type)) return guess.scalar;
        const bytes = bufferBytes(guess, buffers.length);
        const address = bytes === data.byteLength ? memory.upload(data) : memory.allocate(bytes);
        buffers.push({ address, bytes });
        return address;
      });
      return {
        memory,
        args,
        contents: () => buffers.map(({ address, bytes }) => memory.read(address, bytes)),
      };
    },
  };
}

/** The file's kernel with arguments that it can run with, or why there are none. */
export function firstGuess(file: string): TritonCase | string {
  const { plain, module, kernel } = tritonModule(file);
  let why = "";
  for (const guess of guesses) {
    const one = tritonCase(plain, module, kernel, guess);
    const { memory, args } = one.fresh();
    try {
      launch(module, kernel.name, { ...one, args, memory });
      return one;
    } catch (error) {
      why = `${file}: ${(error as Error).message}`;
    }
  }
  return why;
}
