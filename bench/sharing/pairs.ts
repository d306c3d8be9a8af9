// Which results the figures of the nine pairs come from. A new measurement gets a line here, and `npm run update`
// brings the tables and the chart of README.md and docs/results/nine-pairs.md up to date.
import { readFileSync } from "node:fs";
import type { BenchResult } from "#bench";
import { merge, type Pair, parseResult } from "#bench";

interface Measured {
  readonly service: string;
  readonly training: string;
  /**
   * Results by code, the newest first, but a call that measured all arrangements side by side before one that did
   * not. For each arrangement the first result counts that has measured it; several results of one code make a mean.
   * Baselines hold no code of ours, so theirs may be older.
   */
  readonly runs: readonly (readonly string[])[];
}

const [on20, on22, on30] = [20, 22, 30].map((day) => `2026-11-${day}-h200-bench-`);

const measured: readonly Measured[] = [
  {
    service: "BERT-large",
    training: "BERT-large fp32",
    runs: [
      [`${on30}bert-graph+bert-train@appended`],
      [`${on22}bert-graph+bert-train@policies`],
      [`${on22}bert-graph+bert-train@ours`],
      [`${on20}bert-graph+bert-train`],
    ],
  },
  {
    service: "BERT-large",
    training: "GPT-2-large",
    runs: [
      [`${on22}bert-graph+gpt2-train@all-policies`],
      [`${on22}bert-graph+gpt2-train@renewed`],
      [
        `${on22}bert-graph+gpt2-train@ours`,
        `${on22}bert-graph+gpt2-train@ours-again`,
        `${on22}bert-graph+gpt2-train@chunks`,
      ],
      [`${on20}bert-graph+gpt2-train`],
    ],
  },
  {
    service: "BERT-large",
    training: "ResNet50",
    runs: [
      [`${on22}bert-graph+resnet50-train@all-policies`],
      [`${on22}bert-graph+resnet50-train@renewed`],
      [`${on22}bert-graph+resnet50-train@policies`],
      [`${on20}bert-graph+resnet50-train`],
    ],
  },
  {
    service: "ResNet50",
    training: "BERT-large fp32",
    runs: [
      [`${on30}resnet50-graph+bert-train@appended`],
      [`${on22}resnet50-graph+bert-train@all-policies`],
      [`${on22}resnet50-graph+bert-train@policies`],
      [`${on22}resnet50-graph+bert-train@ours`],
      [`${on20}resnet50-graph+bert-train`, `${on20}resnet50-graph+bert-train-repeat`],
    ],
  },
  {
    service: "ResNet50",
    training: "GPT-2-large",
    runs: [
      [`${on30}resnet50-graph+gpt2-train@appended`],
      [`${on22}resnet50-graph+gpt2-train@default`],
      [`${on22}resnet50-graph+gpt2-train@all-policies`],
      [`${on22}resnet50-graph+gpt2-train@sides`],
      [`${on22}resnet50-graph+gpt2-train@ours`],
      [`${on20}resnet50-graph+gpt2-train`, `${on20}resnet50-graph+gpt2-train-repeat`],
    ],
  },
  {
    service: "ResNet50",
    training: "ResNet50",
    runs: [
      [`${on22}resnet50-graph+resnet50-train@all-policies`],
      [`${on22}resnet50-graph+resnet50-train@chunks`],
      // On a CPU so slow that the training leaves the GPU idle.
      [`${on22}resnet50-graph+resnet50-train@aligned-again`],
      [`${on22}resnet50-graph+resnet50-train@aligned`],
      [`${on22}resnet50-graph+resnet50-train@policies`],
      [`${on20}resnet50-graph+resnet50-train`, `${on20}resnet50-graph+resnet50-train-repeat`],
    ],
  },
  {
    service: "ResNet50, eager",
    training: "BERT-large fp32",
    runs: [
      [`${on22}resnet50-eager+bert-train@all-policies`],
      [`${on22}resnet50-eager+bert-train@policies`],
      [`${on22}resnet50-eager+bert-train@ours`],
      [`${on20}resnet50-eager+bert-train`],
    ],
  },
  {
    service: "ResNet50, eager",
    training: "GPT-2-large",
    runs: [
      [`${on22}resnet50-eager+gpt2-train@all-policies`],
      [`${on22}resnet50-eager+gpt2-train@ours`],
      [`${on20}resnet50-eager+gpt2-train`, `${on20}resnet50-eager+gpt2-train-repeat`],
    ],
  },
  {
    service: "ResNet50, eager",
    training: "ResNet50",
    runs: [
      [`${on22}resnet50-eager+resnet50-train@all-policies`],
      [`${on22}resnet50-eager+resnet50-train@ours`],
      [`${on20}resnet50-eager+resnet50-train`, `${on20}resnet50-eager+resnet50-train-repeat`],
    ],
  },
];

/** A service that leaves gaps, under the default policy. The nine pairs are measured under `strict`. */
const gaps = {
  service: "ResNet50, eager",
  training: "ResNet50",
  run: "2026-11-28-h100-resnet50-eager+resnet50-train@default",
} as const;

/** In the order of the tables; others that a result may have are for other pages. */
const compared = [
  "time-slicing",
  "mps",
  "mps-priority",
  "strict-isolated",
  "strict-mps",
  "floor",
  "floor-mps",
] as const;

interface Run {
  /** Without date and ending, such as "bert-graph+bert-train@ours". */
  readonly name: string;
  readonly result: BenchResult;
  readonly pair: Pair;
}

export type PairRows = Pick<MeasuredPair, "service" | "training" | "pair">;

export interface MeasuredPair extends Pick<Measured, "service" | "training"> {
  /** The results that count. */
  readonly counted: readonly BenchResult[];
  /** Results of one code together, the newest first. */
  readonly codes: readonly Pair[];
  readonly pair: Pair;
  /** Every one, the newest first. */
  readonly all: readonly Run[];
}

const read = (name: string): BenchResult =>
  parseResult(
    readFileSync(new URL(`../results/${name}.json`, import.meta.url), "utf8"),
    `bench/results/${name}.json`,
  );

const pairOf = (results: readonly BenchResult[]): Pair => {
  const [pair, ...others] = merge(results);
  if (!pair || others.length > 0) throw new Error("results of one pair were expected");
  return pair;
};

/** Each arrangement's cells, of the first group that has it. */
function counted(groups: readonly (readonly BenchResult[])[]): BenchResult[] {
  const taken = new Set<string>();
  return groups.flatMap((group) => {
    const own = new Set(
      group
        .flatMap(({ cells }) => cells)
        .filter(({ arrangement, status }) => status === "ok" && !taken.has(arrangement))
        .map(({ arrangement }) => arrangement)
        .filter((name) => ["solo", "alone", ...compared].includes(name)),
    );
    for (const arrangement of own) taken.add(arrangement);
    return group.flatMap((result) => {
      const cells = result.cells.filter(
        ({ arrangement, status }) => own.has(arrangement) && status === "ok",
      );
      return cells.length > 0 ? [{ ...result, cells }] : [];
    });
  });
}

export const readGaps = (): PairRows => ({ ...gaps, pair: pairOf([read(gaps.run)]) });

export const readPairs = (): readonly MeasuredPair[] =>
  measured.map(({ service, training, runs }) => {
    const groups = runs.map((group) => group.map(read));
    const results = counted(groups);
    return {
      service,
      training,
      counted: results,
      pair: pairOf(results),
      codes: groups.map(pairOf),
      all: runs.flat().map((file) => {
        const result = read(file);
        return { name: file.replace(/^[\d-]+-h200-bench-/, ""), result, pair: pairOf([result]) };
      }),
    };
  });
