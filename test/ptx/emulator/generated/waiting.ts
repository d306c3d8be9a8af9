// Is a kernel that the legality check lets pass right when blocks run one after the other, and in its variants?

import { DeviceMemory, launch } from "#emulator";
import { legality, parse, preempt, slice } from "#ptx";
import { compare } from "../differential.ts";
import { COUNTERS } from "./drawn-steps.ts";
import { BLOCKS, WORDS } from "./waiting-programs.ts";

/** Instructions, many times what a program needs that does not wait. */
const LIMIT = 40_000;

export interface Judged {
  /** With all blocks at once it comes to an end. */
  readonly ends: boolean;
  /** And with one after the other, with the same results. */
  readonly alone: boolean;
  readonly slice: boolean;
  readonly preempt: boolean;
  /** The error of a verdict, in words; "" if there is none. */
  readonly wrong: string;
}

export function judge(source: string, grid: readonly [number, number, number]): Judged {
  const module = parse(source);
  const [report] = legality(module);
  const verdict = { slice: report?.slice.legal === true, preempt: report?.preempt.legal === true };
  const together = run(BLOCKS);
  if (typeof together === "string") return { ends: false, alone: false, ...verdict, wrong: "" };
  const single = run(1);
  const alone = typeof single !== "string" && Buffer.compare(single, together) === 0;
  const said = typeof single === "string" ? single : "it leaves other memory";
  // Row by row, as slices are. Workers may claim column by column: what they leave is compared below.
  if (verdict.slice && !alone)
    return { ends: true, alone, ...verdict, wrong: `legal, and one block at a time: ${said}` };
  return { ends: true, alone, ...verdict, wrong: variants() };

  function run(resident: number): Uint8Array | string {
    const { memory, args, contents } = fresh();
    try {
      launch(module, "k", { grid, block: [32, 1, 1], args, memory, resident, limit: LIMIT });
    } catch (error) {
      return (error as Error).message;
    }
    return Buffer.concat(contents());
  }

  function variants(): string {
    if (!verdict.slice && !verdict.preempt) return "";
    const { differences } = compare(
      {
        module: slice(preempt(module)),
        kernel: "k",
        grid,
        block: [32, 1, 1],
        fresh,
      },
      { workers: [1], seeds: [0], widths: [1], everyStop: false, stoppedBy: ["counter"] },
    );
    return differences[0] ?? "";
  }

  /** Results are compared, and not what a block that came early has seen in tables. */
  function fresh() {
    const memory = new DeviceMemory();
    // Entries that no block has are set from the start.
    const entries = Int32Array.from({ length: WORDS }, (_, i) =>
      i < BLOCKS || (i >= 2 * BLOCKS && i < 3 * BLOCKS) ? 1 : 0,
    );
    const [marks = 0n, ...two] = Array.from({ length: 3 }, () => memory.upload(entries));
    const input = memory.upload(Int32Array.from({ length: WORDS }, (_, i) => (i * 5) % 7));
    const out = memory.allocate(4 * BLOCKS);
    return {
      memory,
      args: [...two, input, out, memory.allocate(4 * COUNTERS), marks],
      contents: () => [memory.read(out, 4 * BLOCKS)],
    };
  }
}
