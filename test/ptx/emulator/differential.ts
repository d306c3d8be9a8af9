// Original and variants of a kernel on the same inputs: memory must be the same, bit for bit.

import { type Argument, type DeviceMemory, type Extent, launch } from "#emulator";
import { appended, type Module, preempt, slice, unifySync } from "#ptx";

/** A launch that can be made again and again, each time on fresh memory. */
export interface Case {
  readonly module: Module;
  readonly kernel: string;
  readonly grid: Extent;
  readonly block: Extent;
  readonly dynamicShared?: number;
  fresh(): {
    readonly memory: DeviceMemory;
    readonly args: readonly Argument[];
    contents(): Uint8Array[];
  };
}

/** How thoroughly: persistent workers, seeds of the emulator's order, how slices cut rows. */
export interface Effort {
  readonly workers: readonly number[];
  readonly seeds: readonly number[];
  readonly widths: readonly number[];
  /** Stop after n claims for every n up to the number of blocks; else only at a few. */
  readonly everyStop: boolean;
  /**
   * The party that stops the kernel: the host by its flag, which the sentinel sees at its next sample; or the test in
   * its place, at once.
   */
  readonly stoppedBy: readonly ("flag" | "counter")[];
}

export interface Outcome {
  /** Variants that exist, and runs that were compared. */
  readonly variants: readonly string[];
  readonly runs: number;
  /** How often a stopped launch had left blocks to a later one. */
  readonly resumed: number;
  /** The differences, in words; empty when all is well. */
  readonly differences: readonly string[];
}

/** Instructions of all warps: many times what any kernel here needs. */
const LIMIT = 1_000_000;

/** A module with all its variants; unified ones are made first, from a module that has no others. */
export const withVariants = (module: Module): Module => slice(preempt(unifySync(module)));

const has = (module: Module, kernel: string): boolean =>
  module.items.some((item) => item.kind === "function" && item.entry && item.name === kernel);

export function compare(one: Case, effort: Effort): Outcome {
  const { module, kernel, grid, block } = one;
  const shape = {
    block,
    ...(one.dynamicShared === undefined ? {} : { dynamicShared: one.dynamicShared }),
  };
  const reference = one.fresh();
  launch(module, kernel, { ...shape, grid, args: reference.args, memory: reference.memory });
  const wanted = reference.contents();
  const differences: string[] = [];
  const variants: string[] = [];
  let runs = 0;
  let resumed = 0;

  /** Runs something on fresh memory and compares what it leaves. */
  const check = (what: string, run: (fresh: ReturnType<Case["fresh"]>) => void): void => {
    const fresh = one.fresh();
    runs += 1;
    try {
      run(fresh);
    } catch (error) {
      differences.push(`${kernel}, ${what}: ${(error as Error).message}`);
      return;
    }
    fresh.contents().forEach((bytes, i) => {
      const other = wanted[i] ?? new Uint8Array(0);
      if (Buffer.compare(bytes, other) === 0) return;
      const at = bytes.findIndex((byte, j) => byte !== other[j]);
      differences.push(`${kernel}, ${what}: buffer ${i} differs at byte ${at}`);
    });
  };

  const sliced = kernel + appended.slice.suffix;
  if (has(module, sliced)) {
    variants.push("slice");
    for (const seed of effort.seeds)
      for (const width of effort.widths)
        check(`slices ${width} wide, seed ${seed}`, ({ args, memory }) => {
          for (const [first, box] of boxes(grid, width))
            launch(module, sliced, {
              ...shape,
              grid: box,
              args: [...args, ...first, ...grid],
              memory,
              seed,
            });
        });
  }

  const persistent = kernel + appended.preempt.suffix;
  if (has(module, persistent)) {
    variants.push("preempt");
    const total = grid[0] * grid[1] * grid[2];
    const stops = effort.everyStop
      ? Array.from({ length: total + 1 }, (_, n) => n)
      : [...new Set([0, 1, total >> 1, total])];
    for (const seed of effort.seeds)
      for (const workers of effort.workers)
        for (const stop of stops)
          for (const by of effort.stoppedBy)
            check(
              `${workers} workers, ${by} after ${stop} claims, seed ${seed}`,
              ({ args, memory }) => {
                const control = memory.allocate(8);
                const flag = memory.allocate(4);
                for (let epoch = 1; ; epoch++) {
                  if (epoch > total + 6) throw new Error(`it is not done after ${epoch} launches`);
                  const [counter, other] = [4 * (epoch & 1), 4 * (1 - (epoch & 1))];
                  const claimed = (at: number) =>
                    new Uint32Array(memory.read(control + at, 4).buffer)[0] as number;
                  // The first launch is stopped after `stop` claims, the next four after one each, the rest not:
                  // both words of `control` are used again and again.
                  const last = epoch === 1 ? stop : epoch <= 5 ? 1 : Number.POSITIVE_INFINITY;
                  let claims = 0;
                  const raise = () => {
                    if (by === "flag") return memory.write(flag, Uint32Array.of(1));
                    memory.write(control + other, Uint32Array.of(claimed(counter)));
                    memory.write(control + counter, Uint32Array.of(2 ** 31));
                  };
                  memory.write(flag, Uint32Array.of(0));
                  if (last === 0) raise();
                  launch(module, persistent, {
                    ...shape,
                    grid: [1 + workers, 1, 1],
                    // Without a flag there is no sentinel: what it does, `raise` does.
                    args: [...args, control, by === "flag" ? flag : 0, ...grid, epoch],
                    memory,
                    seed,
                    limit: LIMIT,
                    onAtomic: (address) => {
                      if (address === control + counter && ++claims === last) raise();
                    },
                  });
                  if (by === "counter" && claims < last) return;
                  if (claimed(other) >= total) return;
                  resumed += 1;
                }
              },
            );
  }

  const unified = kernel + appended.unified.suffix;
  if (has(module, unified)) {
    variants.push("unified");
    for (const seed of effort.seeds)
      check(`unified, seed ${seed}`, ({ args, memory }) => {
        launch(module, unified, { ...shape, grid, args, memory, seed });
      });
  }
  return { variants, runs, resumed, differences };
}

/** The grid in boxes of `width` along x, in rising order of their blocks. */
function* boxes(grid: Extent, width: number): Generator<[Extent, Extent]> {
  for (let z = 0; z < grid[2]; z++)
    for (let y = 0; y < grid[1]; y++)
      for (let x = 0; x < grid[0]; x += width)
        yield [
          [x, y, z],
          [Math.min(width, grid[0] - x), 1, 1],
        ];
}
