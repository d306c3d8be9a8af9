// Makes the plan for the GPU runner from our own corpus and from Triton's kernels, with the same inputs as the
// emulator's tests: npx tsx bench/ptx/h200/corpus.ts FOLDER
import { basename } from "node:path";
import { launch as run } from "#emulator";
import { prepare } from "../../../test/ptx/corpus/inputs.ts";
import type { Argument, Launch } from "../../../test/ptx/corpus/launches/index.ts";
import { launchesFor, plainModule } from "../../../test/ptx/emulator/corpus.ts";
import {
  bufferBytes,
  firstGuess,
  type TritonCase,
  tritonFiles,
} from "../../../test/ptx/emulator/triton.ts";
import { Plan, type PlanArgument, type PlanCase } from "./plan.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Say where: npx tsx bench/ptx/h200/corpus.ts FOLDER");

const plan = new Plan(folder);

/** Launches that run on a GPU only together with a library, or end in an error there. */
const notLaunched = (one: Launch): string | undefined =>
  one.file === "nested" ? "needs the device runtime's library" : undefined;

for (const one of launchesFor("sm_90")) {
  const module = plainModule("sm_90", one.file);
  const why = notLaunched(one);
  if (why !== undefined) {
    plan.left.push({ corpus: "own", kernel: one.kernel, why });
    continue;
  }
  plan.add(
    {
      corpus: "own",
      file: one.file,
      kernel: one.kernel,
      grid: one.grid,
      block: one.block,
      dynamicShared: one.dynamicShared ?? 0,
      args: argumentsOf(one),
      // Printing is all that it does: repeated, it would measure the host.
      ...(one.kernel === "print_values" ? { long: "none" } : growing(one)),
    },
    module,
  );
}

for (const file of tritonFiles()) {
  const found = firstGuess(file);
  if (typeof found === "string") {
    plan.left.push({ corpus: "triton", kernel: basename(file, ".ptx"), why: found });
    continue;
  }
  const { guess, params } = found;
  let pointers = 0;
  plan.add(
    {
      corpus: "triton",
      file: basename(file, ".ptx"),
      kernel: found.kernel,
      grid: [tritonBlocks(found), 1, 1],
      block: found.block,
      dynamicShared: sharedOf(found),
      args: params.map((type): PlanArgument => {
        if (/64$/.test(type)) {
          const bytes = bufferBytes(guess, pointers++);
          return { kind: "buffer", bytes, contents: guess.fill };
        }
        return {
          kind: "bytes",
          bytes: scalarBytes(/^[usb]/.test(type) ? "i32" : "f32", guess.scalar),
        };
      }),
    },
    found.plain,
  );
}

/** A Triton kernel's PTX does not say how much dynamic shared memory it gets: as much as it turns out to use. */
function sharedOf(one: TritonCase): number {
  if (!one.plain.source.includes("global_smem")) return 0;
  for (let bytes = 64; bytes < (one.dynamicShared ?? 0); bytes *= 2) {
    const { memory, args } = one.fresh();
    try {
      run(one.module, one.kernel, { ...one, dynamicShared: bytes, args, memory });
      return bytes;
    } catch {
      // Not enough.
    }
  }
  return one.dynamicShared ?? 0;
}

/** Nor does it say its grid: the largest number that something is compared with, by the elements of a block. */
function tritonBlocks({ plain: { source } }: TritonCase): number {
  const bounds = [...source.matchAll(/setp\.[lg][te]\.[su](?:32|64)\s+\S+ \S+ (\d+);/g)];
  const most = Math.max(64, ...bounds.map(([, bound]) => Number(bound) + 1));
  const block = /mov\.u32\s+(%r\d+), %ctaid\.x;/.exec(source)?.[1] ?? "";
  const shift = new RegExp(`shl\\.b32\\s+%r\\d+, ${block}, (\\d+);`).exec(source)?.[1] ?? "0";
  return Math.min(65536, Math.max(64, Math.ceil(most / 2 ** Number(shift))));
}

/** How a kernel of ours is given more to do: three times as many blocks must do three times as much. */
function growing(one: Launch): Pick<PlanCase, "long"> {
  const once = instructions(one, 1, -1);
  const numbers = one.args.flatMap((arg, i) =>
    arg.kind === "scalar" && /32$/.test(arg.type) && arg.type !== "f32" ? [i] : [],
  );
  for (const grows of [...numbers, -1]) {
    const share = instructions(one, 3, grows) / once;
    if (share > 2.5 && share < 3.5) return { long: { grows } };
  }
  return {};
}

/**
 * Instructions of the launch with `factor` times the blocks in x and the data, and that argument; NaN if the emulator
 * can't.
 */
function instructions(one: Launch, factor: number, grows: number): number {
  const args = one.args.map((arg, i): Argument => {
    if (arg.kind === "buffer") return { ...arg, count: arg.count * factor };
    return arg.kind === "scalar" && i === grows ? { ...arg, value: arg.value * factor } : arg;
  });
  if (args.some(({ kind }) => kind === "texture" || kind === "struct")) return Number.NaN;
  const [x, y, z] = one.grid;
  const { memory, args: values } = prepare({ ...one, args });
  try {
    return run(plainModule("sm_90", one.file), one.kernel, {
      grid: [x * factor, y, z],
      block: one.block,
      dynamicShared: one.dynamicShared ?? 0,
      args: values,
      memory,
    }).instructions;
  } catch {
    return Number.NaN;
  }
}

console.log(
  `${plan.write()} cases, ${plan.refused.length} kernels with refusals, ${plan.left.length} not launched`,
);

function argumentsOf(launch: Launch): PlanArgument[] {
  const { memory, args, buffers, textures } = prepare(launch);
  let buffer = 0;
  let texture = 0;
  const contents = () => {
    const held = buffers[buffer++];
    if (held === undefined) throw new Error(`${launch.kernel} has no such buffer`);
    return { address: held.address, bytes: memory.read(held.address, held.bytes) };
  };
  const made = (arg: Argument, i: number): PlanArgument => {
    switch (arg.kind) {
      case "scalar":
        return { kind: "bytes", bytes: scalarBytes(arg.type, arg.value) };
      case "buffer": {
        const { bytes } = contents();
        return { kind: "buffer", bytes: bytes.length, contents: bytes };
      }
      case "texture": {
        const texels = textures[texture++] ?? new Float32Array(0);
        const bytes = new Uint8Array(texels.buffer, texels.byteOffset, texels.byteLength);
        return { kind: "texture", width: arg.width, height: arg.height, texels: bytes };
      }
      case "struct": {
        const held = contents();
        const bytes = Buffer.from(args[i] as Uint8Array);
        const address = Buffer.alloc(8);
        address.writeBigUInt64LE(BigInt(held.address));
        return { kind: "struct", bytes, at: bytes.indexOf(address), contents: held.bytes };
      }
    }
  };
  return launch.args.map(made);
}

function scalarBytes(type: string, value: number): Uint8Array {
  const bytes = Buffer.alloc(type === "f64" ? 8 : type === "i16" ? 2 : 4);
  if (type === "f64") bytes.writeDoubleLE(value);
  else if (type === "f32") bytes.writeFloatLE(value);
  else if (type === "i16") bytes.writeInt16LE(value);
  else if (type === "u32") bytes.writeUInt32LE(value);
  else bytes.writeInt32LE(value);
  return bytes;
}
