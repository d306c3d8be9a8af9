// The emulator's results of Hopper's instructions, for a GPU to be asked the same: npx tsx emulated.ts CASES.json.gz
// writes kernels, buffers and results; emulated.py beside it compares them there.
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { launch } from "#emulator";
import { print } from "#ptx";
import { contents, prepare } from "../../../test/ptx/corpus/inputs.ts";
import { capturedCase, capturedNames } from "../../../test/ptx/emulator/captured.ts";
import { launchesFor, plainModule } from "../../../test/ptx/emulator/corpus.ts";
import { boxes } from "../../../test/ptx/emulator/instructions/box-cases.ts";
import type { HostMap } from "../../../test/ptx/emulator/instructions/hopper-case.ts";
import { warpProducts } from "../../../test/ptx/emulator/instructions/mma-cases.ts";
import { products } from "../../../test/ptx/emulator/instructions/wgmma-cases.ts";

type Argument =
  | { readonly kind: "buffer"; readonly bytes: string; readonly expected?: string }
  | { readonly kind: "scalar"; readonly bytes: string }
  | ({ readonly kind: "map" } & HostMap);

interface Case {
  readonly name: string;
  readonly ptx: string;
  readonly kernel: string;
  readonly grid: readonly number[];
  readonly block: readonly number[];
  readonly shared: number;
  readonly args: readonly Argument[];
}

const packed = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const i32 = (value: number) => packed(new Uint8Array(Int32Array.of(value).buffer));

const single: Case[] = [...products, ...warpProducts, ...boxes].map((one) => ({
  name: one.name,
  ptx: one.ptx,
  kernel: "k",
  grid: [1, 1, 1],
  block: [one.threads, 1, 1],
  shared: 0,
  args: [
    ...one.buffers.map((buffer, i): Argument => {
      const last = i === one.buffers.length - 1;
      return {
        kind: "buffer",
        bytes: packed(buffer),
        ...(last ? { expected: packed(one.expected) } : {}),
      };
    }),
    ...one.maps.map((map): Argument => ({ kind: "map", ...map })),
  ],
}));

/** Kernels of the corpus; maps that they made themselves look different on a GPU. */
const own = launchesFor("sm_90")
  .filter(({ file }) => file === "hopper")
  .map((one): Case => {
    const module = plainModule("sm_90", one.file);
    const prepared = prepare(one);
    const before = contents(prepared);
    launch(module, one.kernel, { ...one, args: prepared.args, memory: prepared.memory });
    const after = contents(prepared);
    let buffer = 0;
    return {
      name: one.kernel,
      ptx: print(module),
      kernel: one.kernel,
      grid: one.grid,
      block: one.block,
      shared: 0,
      args: one.args.map((arg): Argument => {
        if (arg.kind === "scalar") return { kind: "scalar", bytes: i32(arg.value) };
        const i = buffer++;
        const bytes = packed(before[i] as Uint8Array);
        const maps = arg.kind === "buffer" && arg.type === "u8";
        return {
          kind: "buffer",
          bytes,
          ...(maps ? {} : { expected: packed(after[i] as Uint8Array) }),
        };
      }),
    };
  });

/** Triton's products of whole numbers; attention uses functions that the emulator has no last bits of. */
const captured = capturedNames()
  .filter((name) => name.startsWith("matmul"))
  .flatMap((name): Case[] => {
    const one = capturedCase(name);
    if (one === undefined) return [];
    const { memory, args, contents: read } = one.fresh();
    const before = read();
    launch(one.plain, one.kernel, { ...one, args, memory });
    const after = read();
    const scratch = 1 << 20;
    return [
      {
        name,
        ptx: print(one.plain),
        kernel: one.kernel,
        grid: one.grid,
        block: one.block,
        shared: one.dynamicShared ?? 0,
        args: [
          ...before.map(
            (bytes, i): Argument => ({
              kind: "buffer",
              bytes: packed(bytes),
              expected: packed(after[i] as Uint8Array),
            }),
          ),
          ...one.scalars.map((value): Argument => ({ kind: "scalar", bytes: i32(value) })),
          ...Array.from(
            { length: args.length - before.length - one.scalars.length },
            (): Argument => ({ kind: "buffer", bytes: packed(new Uint8Array(scratch)) }),
          ),
        ],
      },
    ];
  });

const [out] = process.argv.slice(2);
if (out === undefined) throw new Error("Say where: emulated.ts CASES.json.gz");
const cases = [...single, ...own, ...captured];
writeFileSync(out, gzipSync(JSON.stringify(cases)));
console.log(`${cases.length} cases`);
