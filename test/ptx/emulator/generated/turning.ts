// Is a kernel whose blocks take turns right when blocks run one after the other, and in its variants, if the legality
// check lets it pass?
import fc from "fast-check";
import { DeviceMemory, launch } from "#emulator";
import { legality, parse, preempt, slice } from "#ptx";
import { compare } from "../differential.ts";
import { THREADS, type Turning, turning, turningSource } from "./turning-programs.ts";

/** Instructions, many times what a program needs that ends. */
const LIMIT = 60_000;
const WORDS = 64;

/**
 * How many of this many random kernels are legal, truly wait for blocks that have not been started, or are refused though
 * one block at a time would do; throws at one with a wrong verdict.
 */
export function judgeTurns(programs: number, seed: number) {
  const count = {
    legal: 0,
    waiting: 0,
    "never end": 0,
    "refused though one block at a time would do": 0,
  };
  fc.assert(
    fc.property(turning, fc.boolean(), (one, swizzles) => {
      const { verdict, wrong } = judge(one, swizzles ? 1 : 0);
      if (wrong !== "") throw new Error(`${wrong}\n${JSON.stringify(one)}\n${turningSource(one)}`);
      count[verdict] += 1;
    }),
    { numRuns: programs, seed },
  );
  return count;
}

function judge(one: Turning, bits: number) {
  const source = turningSource(one);
  const module = parse(source);
  const [report] = legality(module);
  const legal = { slice: report?.slice.legal === true, preempt: report?.preempt.legal === true };
  const { grid } = one;
  const [x, y, z] = grid;
  const blocks = x * y * z;
  const block = [THREADS, 1, 1] as const;
  const fresh = () => {
    const memory = new DeviceMemory();
    // Every word begins with the first number.
    const first = one.turn === "plus" ? 4 : 0;
    const table = memory.upload(new Int32Array(WORDS).fill(first));
    const out = memory.allocate(4 * blocks);
    return {
      memory,
      args: [table, out, x, bits, z],
      contents: () => [memory.read(out, 4 * blocks)],
    };
  };
  const ends = (resident: number) => {
    const { memory, args } = fresh();
    try {
      launch(module, "k", { grid, block, args, memory, resident, limit: LIMIT });
      return true;
    } catch {
      return false;
    }
  };
  if (!ends(blocks)) return { verdict: "never end", wrong: "" } as const;
  const alone = ends(1);
  if (!legal.slice && !legal.preempt)
    return {
      verdict: alone ? "refused though one block at a time would do" : "waiting",
      wrong: "",
    } as const;
  if (!alone)
    return { verdict: "waiting", wrong: "legal, and one block at a time never ends" } as const;
  const { differences } = compare(
    { module: slice(preempt(module)), kernel: "k", grid, block, fresh },
    { workers: [1, 2], seeds: [0], widths: [1, 2], everyStop: false, stoppedBy: ["counter"] },
  );
  return { verdict: "legal", wrong: differences[0] ?? "" } as const;
}
