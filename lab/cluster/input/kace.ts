// KACE's tables of measured pairs (SoCC'24 artifact; V100 under MPS), used as the truth. Every throughput is divided by
// the workload's own solo throughput in the same data set. Workloads whose solo and shared figures contradict each
// other (whisper, wav2vec2, mobilenet at batch 2, and those without a solo curve) are left out.
//
// KACE measured pairs with the SMs split in two (x and 100-x per cent) and with both sides unrestricted. The simulation
// restricts only the offline side, which KACE did not measure. So two assumptions are made. On each side, the loss
// beside an unrestricted neighbour grows in proportion to the offline side's share. The online side is never worse off
// than on its own part of the split.
import { unreadableRow } from "../model/errors.ts";
import type { Truth } from "../model/truth.ts";
import { aloneAt, type Workload } from "../model/workload.ts";
import { type Rows, readRows } from "./rows.ts";

export interface KaceFiles {
  /** shared_throughput/baseline_steps_stage2.csv */
  readonly solo: string;
  /** shared_throughput/one_None_merged….csv */
  readonly pairs: string;
  /** single/baseline_labels.csv */
  readonly labels: string;
}

export interface Measured {
  readonly workloads: readonly Workload[];
  readonly truth: Truth;
}

const CONTRADICTORY = /^(whisper|wav2vec2|mobilenet_batch2-train)/;

/** `files`: the contents. Throws a UserError that names the file and the row. */
export function readKace(files: KaceFiles): Measured {
  const solo = readSolo(readRows(files.solo, "baseline_steps_stage2.csv"));
  const labels = readRows(files.labels, "baseline_labels.csv");
  const workloads: Workload[] = [];
  labels.forEach((row) => {
    const name = row.text("Type");
    const curve = solo.get(name);
    if (!curve || CONTRADICTORY.test(name)) return;
    const role = name.endsWith("-inf") ? "online" : "offline";
    workloads.push({
      name,
      role,
      memoryGB: row.number("memcap", { least: 0 }),
      busy: Math.min(1, row.number("sm%", { least: 0 }) / 100),
      memoryBusy: Math.min(1, row.number("mem%", { least: 0 }) / 100),
      byShare: curve.relative,
      requestMs: role === "online" ? 1000 / curve.alone : 0,
    });
  });
  return { workloads, truth: measuredTruth(readPairs(files.pairs, solo)) };
}

interface Solo {
  readonly alone: number;
  readonly relative: readonly number[];
}

function readSolo(rows: Rows): ReadonlyMap<string, Solo> {
  const solo = new Map<string, Solo>();
  rows.forEach((row) => {
    const speeds = Array.from({ length: 10 }, (_, i) => row.optional(String(10 * (i + 1))));
    const alone = speeds[9];
    if (alone === undefined || !(alone > 0) || speeds.includes(undefined)) return;
    // Repeated measurements make some partitions look faster than the whole GPU, but fewer SMs make nothing faster.
    const relative = speeds.map((speed) => Math.min(1, (speed ?? 0) / alone));
    solo.set(row.text("workload"), { alone, relative });
  });
  return solo;
}

/** Retained throughputs of [first, second] by the first's share in tens of per cent. Key 10: both are unrestricted. */
type Split = ReadonlyMap<number, readonly [number, number]>;

const pairKey = (a: string, b: string): string => `${a}\n${b}`;

function readPairs(text: string, solo: ReadonlyMap<string, Solo>): ReadonlyMap<string, Split> {
  const pairs = new Map<string, Split>();
  readRows(text, "one_None_merged….csv").forEach((row) => {
    const [first, second] = [row.text("workload1"), row.text("workload2")];
    const [a, b] = [solo.get(first), solo.get(second)];
    if (!a || !b || CONTRADICTORY.test(first) || CONTRADICTORY.test(second)) return;
    const split = new Map<number, readonly [number, number]>();
    for (let tenth = 1; tenth <= 10; tenth++) {
      const column = tenth === 10 ? "(LS100, BE100)" : `(LS${10 * tenth}, BE${100 - 10 * tenth})`;
      const cell = row.text(column);
      if (cell === "" || cell.includes("None")) continue;
      const [one, two] = (/^\(([^,]+), ([^)]+)\)$/.exec(cell) ?? []).slice(1).map(Number);
      if (one === undefined || two === undefined || !(one >= 0) || !(two >= 0))
        throw unreadableRow(row.place, column, cell);
      split.set(tenth, [Math.min(1, one / a.alone), Math.min(1, two / b.alone)]);
    }
    if (split.has(10)) {
      pairs.set(pairKey(first, second), split);
      const turned = [...split].map(
        ([tenth, [x, y]]) => [tenth === 10 ? 10 : 10 - tenth, [y, x]] as const,
      );
      pairs.set(pairKey(second, first), new Map(turned));
    }
  });
  return pairs;
}

/** Whether this online and this offline workload were measured together. */
export const isMeasured = ({ truth }: Measured, online: Workload, offline: Workload): boolean =>
  Number.isFinite(truth.together(online, offline, 0.5).online);

const NOT_MEASURED = { online: Number.NaN, offline: Number.NaN };

function measuredTruth(pairs: ReadonlyMap<string, Split>): Truth {
  return {
    together(online, offline, share) {
      const split = pairs.get(pairKey(online.name, offline.name));
      const both = split?.get(10);
      if (!split || !both) return NOT_MEASURED;
      const confined = between(split, 1 - share, [
        aloneAt(online, 1 - share),
        aloneAt(offline, share),
      ]);
      const lost = 1 - both[1] / aloneAt(offline, 1);
      return {
        online: Math.min(1, Math.max(1 - (1 - both[0]) * share, confined[0])),
        offline: Math.min(aloneAt(offline, share), confined[1]) * (1 - lost * share),
      };
    },
    beside(one, other, share) {
      const both = pairs.get(pairKey(one.name, other.name))?.get(10);
      // If the pair was not measured, its two sides are assumed to share equally.
      return 1 - (1 - (both?.[0] ?? 0.5)) * share;
    },
  };
}

/**
 * The split at the online side's share, interpolated linearly between the measured ones. `alone`: the value if none is
 * near.
 */
function between(
  split: Split,
  onlineShare: number,
  alone: readonly [number, number],
): readonly [number, number] {
  const place = onlineShare * 10;
  const lower = split.get(Math.floor(place + 1e-9));
  const upper = split.get(Math.ceil(place - 1e-9));
  if (place < 1 || place > 9 || !lower || !upper) return alone;
  const part = place - Math.floor(place + 1e-9);
  return [lower[0] + (upper[0] - lower[0]) * part, lower[1] + (upper[1] - lower[1]) * part];
}
