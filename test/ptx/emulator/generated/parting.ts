// Is a kernel whose lanes part right in its preemptible variant, if the legality check lets it pass?
import fc from "fast-check";
import { DeviceMemory, type Extent, launch } from "#emulator";
import { legality, parse, preempt, slice } from "#ptx";
import { compare } from "../differential.ts";
import { partingProgram, partingSource } from "./parting-programs.ts";

const BLOCKS = 2;
const THREADS = 64;
/** Instructions, many times what a program needs that ends. */
const LIMIT = 100_000;

interface Parted {
  /** As written it comes to an end. */
  readonly ends: boolean;
  readonly legal: boolean;
  /** The error of the verdict, in words; "" if there is none. */
  readonly wrong: string;
}

/** How many of this many random kernels are legal, refused, or hang as written; throws at one with a wrong verdict. */
export function judgeAll(
  programs: number,
  seed: number,
  kind: typeof partingProgram = partingProgram,
) {
  const count = { legal: 0, refused: 0, "never end": 0 };
  fc.assert(
    fc.property(kind, ({ steps, block }) => {
      const source = partingSource(steps);
      const { ends, legal, wrong } = judge(source, block);
      if (wrong !== "") throw new Error(`${wrong}\n${source}`);
      count[!ends ? "never end" : legal ? "legal" : "refused"] += 1;
    }),
    { numRuns: programs, seed },
  );
  return count;
}

function judge(source: string, block: Extent): Parted {
  const module = parse(source);
  const [report] = legality(module);
  const [x] = block;
  const { legal = false, wholeWarps = false } = report?.preempt ?? {};
  const grid: Extent = [BLOCKS, 1, 1];
  const fresh = () => {
    const memory = new DeviceMemory();
    const count = BLOCKS * THREADS;
    const input = memory.upload(Uint32Array.from({ length: count }, (_, i) => (i * 7) % 5));
    const out = memory.allocate(4 * count);
    return { memory, args: [input, out, 2], contents: () => [memory.read(out, 4 * count)] };
  };
  const { memory, args } = fresh();
  try {
    launch(module, "k", { grid, block, args, memory, limit: LIMIT });
  } catch {
    return { ends: false, legal, wrong: "" };
  }
  if (!legal || (wholeWarps && x % 32 !== 0)) return { ends: true, legal: false, wrong: "" };
  const { differences } = compare(
    { module: slice(preempt(module)), kernel: "k", grid, block, fresh },
    { workers: [1], seeds: [0], widths: [1], everyStop: true, stoppedBy: ["counter"] },
  );
  return { ends: true, legal: true, wrong: differences[0] ?? "" };
}
