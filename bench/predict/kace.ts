// KACE's published measurements (V100, MPS), read from a local copy of nba556677go/KACE-artifact. The copy has no
// licence, so it stays where it is: COTENANT_DATA names the folder above it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { csvRows } from "#core";
import type { Colocation, Features, MetricName } from "#predict";
import { dataFolder } from "../data.ts";

const folder = join(dataFolder, "kace");

/** A measured colocation whose clients have names: for the protocol and the report, never for a model. */
export interface Named extends Colocation {
  readonly names: readonly string[];
}

type Row = Readonly<Record<string, string>>;

export function csvRecords(path: string): readonly Row[] {
  const [header, ...rows] = csvRows(readFileSync(path, "utf8"));
  return rows.map(({ fields }) =>
    Object.fromEntries((header?.fields ?? []).map((name, i) => [name, fields[i] ?? ""])),
  );
}

const systemColumns = { "sm%": "smBusy", "mem%": "memoryBusy", memcap: "memoryGB" } as const;
const kernelColumns = {
  _Threads: "threads",
  "_Compute (SM) Throughput": "smThroughput",
  "_DRAM Throughput": "dramThroughput",
  "_Memory Throughput": "memoryThroughput",
  _Registers: "registers",
  "_Static Shared Memory": "staticSharedBytes",
  exclusive_throughput: "soloThroughput",
} as const;
const xuColumns = {
  "_PCIe read bandwidth": "pcieRead",
  "_PCIe write bandwidth": "pcieWrite",
  _Long_Kernel: "longKernels",
  _ave_Kernel_Length: "kernelLength",
  "_long/short_Ratio": "longShortRatio",
  _avg_Thread: "meanThreads",
  "CPU%": "cpuBusy",
  "MainMem%": "mainMemory",
} as const;

const columns = (row: Row, side: string, table: Readonly<Record<string, MetricName>>): Features =>
  Object.fromEntries(
    Object.entries(table).map(([column, metric]) => [metric, Number(row[`${side}${column}`])]),
  );

/** The 181 rows, with both KACE's metrics and Xu et al.'s. */
export function kacePairs(): readonly Named[] {
  const pairs = join(folder, "pairs");
  const kernels = csvRecords(join(pairs, "MPS100_kernel_labels_targetMPS100.csv"));
  const xu = new Map(
    csvRecords(join(pairs, "hotcloud_combined_labels_targetMPS100.csv")).map((row) => [
      keyOf(row),
      row,
    ]),
  );
  // One object a workload, so that what is remembered of it is found again.
  const features = new Map<string, Features>();
  const of = (row: Row, side: "w1" | "w2", name: string): Features => {
    const known = features.get(name);
    if (known) return known;
    const made = {
      ...columns(row, side, { ...systemColumns, ...kernelColumns }),
      ...columns(xu.get(keyOf(row)) ?? {}, side, xuColumns),
    };
    features.set(name, made);
    return made;
  };
  return kernels.map((row) => {
    const names = [row.workload1 ?? "", row.workload2 ?? ""] as const;
    const side = (which: "w1" | "w2", name: string) => ({
      features: of(row, which, name),
      retained: Number(row[`${which}throughput`]) / Number(row[`${which}exclusive_throughput`]),
      smShare: 1,
    });
    return { names, sides: [side("w1", names[0]), side("w2", names[1])] };
  });
}

const keyOf = ({ workload1, workload2 }: Row): string => `${workload1} ${workload2}`;

/** Wav2vec2's and Whisper's solo throughputs do not fit their colocated ones: ratios run from 0.18 to 3.64. */
export const isConsistent = ({ names }: Named): boolean =>
  !names.some((name) => /^(wav2vec2|whisper)/.test(name));

/** KACE's own split: rows of training_set.csv. */
export function kaceTrainingRows(rows: readonly Named[]): ReadonlySet<Named> {
  const wanted = new Set(csvRecords(join(folder, "pairs", "training_set.csv")).map(keyOf));
  return new Set(rows.filter(({ names }) => wanted.has(names.join(" "))));
}

/** Model and kind, without the batch size. */
export const modelOf = (name: string): string => name.replace(/_batch\d+/, "");

export interface SharedCells {
  readonly all: number;
  /** Cells in which no side beats its solo run by more than 5 %, nor its own partition alone by more than 15 %. */
  readonly consistent: readonly Named[];
}

/** Pairs at ten splits of the SMs. Only workloads with kernel metrics and a solo throughput. */
export function kaceShares(): SharedCells {
  const solo = new Map(
    csvRecords(join(folder, "shared_throughput", "baseline_steps_stage2.csv")).map((row) => [
      row.workload ?? "",
      row,
    ]),
  );
  const features = soloFeatures();
  let all = 0;
  const consistent: Named[] = [];
  const table = "one_None_merged0505_0617_0520_0520_share_steps_stage2.csv";
  for (const row of csvRecords(join(folder, "shared_throughput", table))) {
    const names = [row.workload1 ?? "", row.workload2 ?? ""] as const;
    for (const [column, cell] of Object.entries(row)) {
      const shares = /^\(LS(\d+), BE(\d+)\)$/.exec(column);
      const throughputs = /^\(([\d.e+-]+), ([\d.e+-]+)\)$/.exec(cell);
      if (!shares || !throughputs) continue;
      const sides = names.map((name, i) => {
        const share = Number(shares[i + 1]);
        const throughput = Number(throughputs[i + 1]);
        const alone = solo.get(name);
        return {
          features: features.get(name),
          smShare: share / 100,
          retained: throughput / Number(alone?.["100"] || Number.NaN),
          ofPartition: throughput / Number(alone?.[share] || Number.NaN),
        };
      });
      const [a, b] = sides;
      if (!a?.features || !b?.features || Number.isNaN(a.ofPartition + b.ofPartition)) continue;
      all++;
      if (sides.every(({ retained, ofPartition }) => retained <= 1.05 && ofPartition <= 1.15))
        consistent.push({ names, sides: [sideOf(a, a.features), sideOf(b, b.features)] });
    }
  }
  return { all, consistent };
}

const sideOf = (
  { retained, smShare }: { readonly retained: number; readonly smShare: number },
  features: Features,
) => ({ features, retained, smShare });

function soloFeatures(): ReadonlyMap<string, Features> {
  const kernels = join(folder, "single", "kernel_total_KACE");
  const counted = new Map(
    readdirSync(kernels).flatMap((file) =>
      csvRecords(join(kernels, file)).map((row) => [row.Type ?? "", row] as const),
    ),
  );
  const found = new Map<string, Features>();
  for (const row of csvRecords(join(folder, "single", "baseline_labels.csv"))) {
    const name = row.Type ?? "";
    const kernel = counted.get(name);
    if (!kernel) continue;
    const named = Object.fromEntries(
      Object.entries(kernel).map(([key, value]) => [`_${key}`, value]),
    );
    const { exclusive_throughput: _, ...counters } = kernelColumns;
    found.set(name, {
      ...columns(row, "", systemColumns),
      ...columns(named, "", counters),
      soloThroughput: Number(row.Exclusive100),
    });
  }
  return found;
}
