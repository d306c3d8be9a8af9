// Measured colocations of several publications, in one form: who takes part, what each retains, and which model each
// workload is a variant of. The files stay where they are; COTENANT_DATA names the folder above them.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Features, type MetricName, sharedMetrics } from "#predict";
import { kaceNames } from "#profile";
import { dataFolder } from "../data.ts";
import { h200Pairs } from "./h200.ts";
import { csvRecords, isConsistent, kacePairs, modelOf, type Named } from "./kace.ts";

export interface MeasuredSet {
  readonly name: string;
  readonly rows: readonly Named[];
  readonly metrics: readonly MetricName[];
  /** The model that a workload runs, at any batch size or precision. */
  modelOf(name: string): string;
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

/**
 * KACE's colocations of three and four (scripts/multiinstance/dataset of its artifact): `FOLDER/kace/multi/triples.csv`
 * and `quads.csv`, with columns workload1, w1throughput, w1exclusive_throughput, … for each client.
 */
function kaceSeveral(file: string): readonly Named[] {
  const known = new Map<string, Features>();
  for (const { names, sides } of kacePairs())
    for (const [i, { features }] of sides.entries()) known.set(names[i] ?? "", features);
  return csvRecords(join(dataFolder, "kace", "multi", file)).map((row) => {
    const names = Array.from({ length: 8 }, (_, k) => row[`workload${k + 1}`] ?? "").filter(
      Boolean,
    );
    return {
      names,
      sides: names.map((name, k) => ({
        features: known.get(name) ?? featuresOf(known, name, row, `w${k + 1}`),
        retained: Number(row[`w${k + 1}throughput`]) / Number(row[`w${k + 1}exclusive_throughput`]),
        smShare: 1,
      })),
    };
  });
}

function featuresOf(
  known: Map<string, Features>,
  name: string,
  row: Readonly<Record<string, string>>,
  side: string,
): Features {
  const features = Object.fromEntries(
    Object.entries({ ...systemColumns, ...kernelColumns }).map(([column, metric]) => [
      metric,
      Number(row[`${side}${column}`]),
    ]),
  );
  known.set(name, features);
  return features;
}

/** Lucid (ASPLOS'23), S-Lab-System-Group/Lucid: pairs of trainings, profiles of nvidia-smi; simulation/data and analyzer. */
function lucidPairs(): readonly Named[] {
  const folder = join(dataFolder, "lucid");
  const known = new Map<string, Features>();
  const nameOf = (model = "", batch = "", amp = "") => `${model} ${batch} ${amp}`;
  for (const row of csvRecords(join(folder, "single_data.csv")))
    known.set(nameOf(row.model, row.batchsize, row.amp), {
      smBusy: Number(row.gpu_util),
      memoryBusy: Number(row.gmem_util),
      memoryGB: Number(row.gmem) / 1024,
      soloThroughput: Number(row.speed),
    });
  return csvRecords(join(folder, "colocate_info.csv")).flatMap((row) => {
    const names = [1, 2].map((i) => nameOf(row[`model${i}`], row[`batchsize${i}`], row[`amp${i}`]));
    const sides = names.flatMap((name, i) => {
      const features = known.get(name);
      return features ? [{ features, retained: Number(row[`speed${i + 1}`]), smShare: 1 }] : [];
    });
    return sides.length === 2 ? [{ names, sides }] : [];
  });
}

/** KACE's colocations of two, three and four clients whose solo throughputs fit; none of a size whose file is missing. */
export const kaceBySize = (): readonly (readonly Named[])[] => [
  kacePairs().filter(isConsistent),
  ...["triples.csv", "quads.csv"].map((file) =>
    existsSync(join(dataFolder, "kace", "multi", file))
      ? kaceSeveral(file).filter(isConsistent)
      : [],
  ),
];

/** The sets whose files are there. */
export function measuredSets(): readonly MeasuredSet[] {
  const h200 = h200Pairs();
  const sets: MeasuredSet[] = [
    {
      name: "H200 pairs",
      rows: h200,
      metrics: sharedMetrics(h200.flatMap(({ sides }) => sides.map(({ features }) => features))),
      modelOf: (name) => name,
    },
  ];
  if (existsSync(join(dataFolder, "kace"))) {
    const [pairs = [], triples = [], quads = []] = kaceBySize();
    sets.push({ name: "KACE pairs", rows: pairs, metrics: kaceNames, modelOf });
    const all = [...pairs, ...triples, ...quads];
    if (all.length > pairs.length)
      sets.push({ name: "KACE two to four", rows: all, metrics: kaceNames, modelOf });
  }
  if (existsSync(join(dataFolder, "lucid"))) {
    const rows = lucidPairs();
    sets.push({
      name: "Lucid pairs",
      rows,
      metrics: ["smBusy", "memoryBusy", "memoryGB", "soloThroughput"],
      modelOf: (name) => name.split(" ")[0] ?? name,
    });
  }
  return sets;
}
