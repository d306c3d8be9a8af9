// The table of docs/results/model.md that is of the cluster simulator's queue.
import { readFileSync } from "node:fs";
import { table } from "#bench";

interface Result {
  readonly cases: readonly {
    readonly cv: number;
    readonly load: number;
    readonly computed: number;
    readonly simulated: { readonly mean: number; readonly least: number; readonly most: number };
    readonly off: number;
    readonly shortRuns: {
      readonly least: number;
      readonly most: number;
      readonly deviation: number;
    };
  }[];
}

export function queueTable(): string[] {
  const { cases }: Result = JSON.parse(
    readFileSync("bench/results/2026-11-30-cluster-queue.json", "utf8"),
  );
  const heads = [
    "cv",
    "load",
    "computed p99",
    "simulated, 10 M requests: mean",
    "least and most of 8",
    "computed against the mean",
    "400,000 requests: least and most of 200",
    "deviation",
  ];
  return table(
    heads,
    heads.map(() => "right" as const),
    cases.map(({ cv, load, computed, simulated, off, shortRuns }) => [
      `${cv}`,
      `${load}`,
      computed.toFixed(1),
      simulated.mean.toFixed(1),
      `${simulated.least.toFixed(1)}, ${simulated.most.toFixed(1)}`,
      `${off < 0 ? "-" : "+"}${Math.abs(100 * off).toFixed(1)} %`,
      `${shortRuns.least.toFixed(1)}, ${shortRuns.most.toFixed(1)}`,
      `${(100 * shortRuns.deviation).toFixed(0)} %`,
    ]),
  );
}
