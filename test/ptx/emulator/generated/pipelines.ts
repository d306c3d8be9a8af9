// Is a kernel with a ring of copies right in its preemptible variant, if the legality check lets it pass?
import fc from "fast-check";
import { DeviceMemory, type Extent, launch } from "#emulator";
import { legality, parse, preempt, print } from "#ptx";
import { compare } from "../differential.ts";
import { pipeline, pipelineSource, THREADS, WORDS } from "./pipeline-programs.ts";

const BLOCKS = 4;
const grid: Extent = [BLOCKS, 1, 1];
const block: Extent = [THREADS, 1, 1];
const SEEDS = [1, 2];
/** Tiles that a block may reach: its own number, five that are used and two ahead. */
const TILES = BLOCKS + 7;

/** How many of this many random kernels are legal, refused, or fail as written; throws at one with a wrong verdict. */
export function judgeAll(programs: number, seed: number) {
  const count = { legal: 0, refused: 0, fails: 0 };
  fc.assert(
    fc.property(pipeline, (one) => {
      const source = pipelineSource(one);
      const verdict = judge(source);
      if (verdict.wrong !== "") throw new Error(`${verdict.wrong}\n${source}`);
      count[verdict.is] += 1;
    }),
    { numRuns: programs, seed },
  );
  return count;
}

function fresh() {
  const memory = new DeviceMemory();
  const input = memory.upload(Uint32Array.from({ length: TILES * WORDS }, (_, i) => 7 * i + 3));
  const out = memory.allocate(4 * WORDS * BLOCKS);
  return { memory, args: [input, out, 0], contents: () => [memory.read(out, 4 * WORDS * BLOCKS)] };
}

/** `change`: of the module's text with its variants. */
export function judge(
  source: string,
  change: (text: string) => string = (text) => text,
): { readonly is: "legal" | "refused" | "fails"; readonly wrong: string } {
  const module = parse(source);
  const legal = legality(module)[0]?.preempt.legal ?? false;
  const { memory, args } = fresh();
  try {
    launch(module, "k", { grid, block, args, memory, limit: 100_000 });
  } catch {
    return { is: "fails", wrong: "" };
  }
  if (!legal) return { is: "refused", wrong: "" };
  const { differences } = compare(
    { module: parse(change(print(preempt(module)))), kernel: "k", grid, block, fresh },
    { workers: [1], seeds: SEEDS, widths: [], everyStop: false, stoppedBy: ["counter"] },
  );
  return { is: "legal", wrong: differences[0] ?? "" };
}
