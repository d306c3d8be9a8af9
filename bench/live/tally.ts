// The tables of docs/results/stopping-inside.md from the results that they are about: `npx tsx bench/live/tally.ts`.

import { readdirSync, readFileSync } from "node:fs";
import type { BenchResult, Cell } from "#bench";
import { markdownSteps, parseResult } from "#bench";
import { percent, times } from "#measure";

const folder = new URL("../results/", import.meta.url);

/** The newest result whose name ends so. */
function newest(ending: string): string {
  const name = readdirSync(folder)
    .filter((one) => one.endsWith(`${ending}.json`))
    .sort()
    .at(-1);
  if (name === undefined) throw new Error(`bench/results has no …${ending}.json`);
  return name;
}

const read = (name: string) => readFileSync(new URL(name, folder), "utf8");
const bench = (name: string): BenchResult => parseResult(read(name), name);

function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]) => console.log(`| ${cells.join(" | ")} |`);
  line(head);
  line(head.map((_, i) => (i === 0 ? "---" : "--:")));
  for (const row of rows) line(row);
  console.log();
}

/** An arrangement in the words of the page. */
function words(arrangement: string): string {
  const rule = (name: string) => new RegExp(`${name}=(\\d+)`).exec(arrangement)?.[1];
  const [preempt, chunk] = [rule("preemptUs"), rule("chunkUs")];
  if (arrangement.startsWith("floor")) return "floor";
  if (arrangement.startsWith("temporal")) return "between requests";
  const mode = arrangement.includes("-mps") ? ", mps" : "";
  if (preempt === "0") return `between kernels${mode}`;
  if (rule("graphGates") === "1") return `inside, by gate nodes${mode}`;
  if (rule("graphGates") === "0") return `not inside the graph${mode}`;
  if (rule("renewUs") === "0") return `inside, time slices as they come${mode}`;
  if (preempt === undefined) return `inside${mode}`;
  return `between blocks, ${preempt} us${chunk === undefined ? "" : `, chunks of ${chunk} us`}${mode}`;
}

function row({ arrangement, high, bestEffort }: Cell): string[] {
  if (!high || !bestEffort) return [];
  const { latency, burst } = high;
  return [
    words(arrangement),
    times(burst.p50.value),
    times(burst.p99.value),
    times(latency.p99.value),
    percent(bestEffort.retained.value),
  ];
}

function sharing(name: string): void {
  const { scenario, cells } = bench(name);
  const requests = cells.find(({ high }) => high)?.high?.requests;
  const jobs = scenario.bestEffort.map((job) => job.name).join(" + ");
  console.log(`${scenario.high.name} beside ${jobs}, ${requests} requests each (\`${name}\`):\n`);
  table(
    ["stops", "burst p50", "burst p99", "arrival to done p99", "kept"],
    cells.map(row).filter(({ length }) => length > 0),
  );
}

interface Spread {
  readonly p50: number;
  readonly p99: number;
}
interface Kernel {
  readonly kernel?: string;
  readonly originalUs: Spread;
  readonly formUs: Spread;
  readonly blockUs: number;
  readonly lateUs: Spread;
  readonly madeAfterMs: number;
  readonly triedAfterMs: number;
}

/** The chosen form's solo cost, the time until it stops, and the time it took to find. */
function forms(name: string): void {
  const { rows } = JSON.parse(read(name)) as { readonly rows: readonly Kernel[] };
  console.log(`Forms (\`${name}\`):\n`);
  table(
    [
      "kernel",
      "as it is, us",
      "form alone",
      "turnaround p50, p99, us",
      "forms after, ms",
      "trial, ms",
    ],
    rows.flatMap(({ kernel, originalUs, formUs, lateUs, madeAfterMs, triedAfterMs }) => {
      if (kernel === undefined) return [];
      const cost = formUs.p50 / originalUs.p50 - 1;
      return [
        [
          kernel,
          originalUs.p50.toFixed(0),
          `+${(100 * cost).toFixed(1)} %`,
          `${lateUs.p50.toFixed(0)}, ${lateUs.p99.toFixed(0)}`,
          madeAfterMs.toFixed(0),
          (triedAfterMs - madeAfterMs).toFixed(0),
        ],
      ];
    }),
  );
}

interface Cost {
  readonly kernels: number;
  readonly median: number;
  readonly p90: number;
  readonly worst: number;
}

/** The solo cost of each kind of form, over all kernels that can have it. */
function variants(name: string): void {
  const { summary } = JSON.parse(read(name)) as {
    readonly summary: readonly Record<string, unknown>[];
  };
  console.log(`Variants alone, time over the original's (\`${name}\`):\n`);
  table(
    ["kernels", "variant", "number", "median", "90 %", "worst"],
    summary.flatMap((corpus) => {
      const key = Object.keys(corpus).find((one) => one.startsWith("alone"));
      const alone = (key === undefined ? {} : corpus[key]) as Record<string, Cost>;
      return ["preempt", "slice in four", "best variant"].flatMap((variant) => {
        const cost = alone[variant];
        if (!cost) return [];
        const figures = [cost.median, cost.p90, cost.worst].map((one) => one.toFixed(2));
        return [[String(corpus.corpus), variant, String(cost.kernels), ...figures]];
      });
    }),
  );
}

/** One of "PAIR@ENDING", if it has been measured. */
const measured = (ending: string) =>
  readdirSync(folder).some((one) => one.endsWith(`-${ending}.json`));

for (const wanted of [
  "bert-graph+long-kernels@inside",
  "resnet50-graph+long-kernels@inside",
  "resnet50-graph+long-kernels@tally",
  "resnet50-graph+bert-triton-train@tally",
  "bert-graph+bert-triton-train@tally",
  "resnet50-graph+pointnet-compile-train@renewed",
  "bert-graph+pointnet-compile-train@renewed",
  "bert-graph+bert-offline-short-graph@renewed",
  "bert-graph+bert-offline-graph@renewed",
])
  if (measured(wanted)) sharing(newest(`-${wanted}`));
if (measured("bench-responsiveness"))
  for (const line of markdownSteps(bench(newest("-bench-responsiveness")))) console.log(line);
forms(newest("h200-inside"));
variants(newest("h200-ptx"));
