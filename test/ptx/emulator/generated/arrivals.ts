// Is a kernel whose warps arrive at barriers without waiting right in its preemptible variant, if the legality check lets
// it pass?
import fc from "fast-check";
import { DeviceMemory, type Extent, launch } from "#emulator";
import { legality, parse, preempt, print } from "#ptx";
import { compare } from "../differential.ts";
import { type Arriving, arriving, arrivingSource, LANES, threadsOf } from "./arrivals-programs.ts";

const BLOCKS = 4;
const grid: Extent = [BLOCKS, 1, 1];
const SEEDS = [0, 1, 2, 3];

export type Verdict = "legal" | "refused" | "fails";

/** How many of this many random kernels are legal, refused, or fail as written; throws at one with a wrong verdict. */
export function judgeArrivals(programs: number, seed: number) {
  const count = { legal: 0, refused: 0, fails: 0 };
  fc.assert(
    fc.property(arriving, (one) => {
      const { is, wrong } = judgeArrival(one);
      if (wrong !== "") throw new Error(`${wrong}\n${JSON.stringify(one)}\n${arrivingSource(one)}`);
      count[is] += 1;
    }),
    { numRuns: programs, seed },
  );
  return count;
}

/** `change`: of the module's text with its variants. */
export function judgeArrival(
  one: Arriving,
  change: (text: string) => string = (text) => text,
): { readonly is: Verdict; readonly wrong: string } {
  const module = parse(arrivingSource(one));
  const threads = threadsOf(one);
  const block: Extent = [threads, 1, 1];
  const bytes = (4 * BLOCKS * threads) / LANES;
  const fresh = () => {
    const memory = new DeviceMemory();
    const out = memory.allocate(bytes);
    return { memory, args: [out, 0], contents: () => [memory.read(out, bytes)] };
  };
  // A result that depends on which warp comes first is not right or wrong.
  let wanted: Uint8Array | undefined;
  for (const seed of SEEDS) {
    const { memory, args, contents } = fresh();
    try {
      launch(module, "k", { grid, block, args, memory, seed, limit: 100_000 });
    } catch {
      return { is: "fails", wrong: "" };
    }
    const [found = new Uint8Array()] = contents();
    if (wanted !== undefined && Buffer.compare(found, wanted) !== 0)
      return { is: "fails", wrong: "" };
    wanted = found;
  }
  if (legality(module)[0]?.preempt.legal !== true) return { is: "refused", wrong: "" };
  const { differences } = compare(
    { module: parse(change(print(preempt(module)))), kernel: "k", grid, block, fresh },
    { workers: [1, 2], seeds: SEEDS, widths: [], everyStop: false, stoppedBy: ["counter"] },
  );
  return { is: "legal", wrong: differences[0] ?? "" };
}
