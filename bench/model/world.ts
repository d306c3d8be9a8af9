// The model against the world: the cells that `cotenant bench` measured on an H200, modelled from profiles of
// the same jobs, recorded alone (bench/profiles/h200). What a job takes alone is taken from the measured call
// too, since machines of one kind differ. `npx tsx bench/model/world.ts` prints the comparison and writes it.
//
// Constants of the model were chosen looking at the pairs in `fitted` only; the others judge them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { arrangementNamed, type Job, runWindow } from "#gpu";
import { readProfileFile, type WorkloadProfile } from "#profile";
import { parseResult } from "../../src/bench/report/index.ts";
import type { BenchResult, Cell } from "../../src/bench/result.ts";
import { poisson } from "./jobs.ts";
import { figuresOf, median, save } from "./windows.ts";

const RESULTS = "bench/results";
const PROFILES = "bench/profiles/h200";
const SECONDS = 10;
const arrangements = [
  "floor",
  "time-slicing",
  "mps",
  "mps-priority",
  "mps-30",
  "streams",
  "strict-isolated",
  "strict-mps",
];

/** Each high job and each training is in both halves. */
const fitted = [
  "resnet50-graph+bert-train",
  "bert-graph+resnet50-train",
  "bert-graph+gpt2-train",
  "resnet50-eager+gpt2-train",
];

interface Compared {
  readonly file: string;
  readonly pair: string;
  readonly load: number;
  readonly arrangement: string;
  readonly burstP50: { readonly measured: number; readonly modelled: number };
  readonly burstP99: { readonly measured: number; readonly modelled: number };
  readonly retained: { readonly measured: number; readonly modelled: number };
}

const known = new Map<string, WorkloadProfile>(
  readdirSync(PROFILES).map((file) => {
    const profile = readProfileFile(join(PROFILES, file));
    return [profile.name, profile];
  }),
);

function compare(file: string): Compared[] {
  const result = parseResult(readFileSync(join(RESULTS, file), "utf8"), file);
  const { high, bestEffort, load, ratePerS, arrivals } = result.scenario;
  const [training, another] = bestEffort;
  if (!training || another || arrivals !== "poisson" || load === undefined || !ratePerS) return [];
  const service = known.get(high.name);
  const job = known.get(training.name);
  const burstMs = cell(result, "solo")?.high?.burstMs.p50;
  const alonePerS = cell(result, "alone")?.bestEffort?.jobs[0]?.perS;
  if (!service || !job || !burstMs || !alonePerS) return [];
  const jobs = {
    high: {
      profile: { ...service, soloNs: burstMs * 1e6 },
      submission: high.name.endsWith("-graph") ? "graph" : "kernels",
      arrivalsNs: poisson(ratePerS, SECONDS, 1),
    } as const,
    bestEffort: [{ profile: { ...job, soloNs: 1e9 / alonePerS }, submission: "kernels" } as Job],
  };
  const figures = (name: string) =>
    figuresOf(runWindow({ arrangement: arrangementNamed(name), ...jobs, seconds: SECONDS }));
  const solo = figures("solo");
  const alone = figures("alone");
  return arrangements.flatMap((arrangement) => {
    const measured = cell(result, arrangement);
    if (!measured?.high || !measured.bestEffort) return [];
    const modelled = figures(arrangement);
    return [
      {
        file,
        pair: `${high.name}+${training.name}`,
        load,
        arrangement,
        burstP50: {
          measured: measured.high.burst.p50.value,
          modelled: modelled.burstP50Ms / solo.burstP50Ms,
        },
        burstP99: {
          measured: measured.high.burst.p99.value,
          modelled: modelled.burstP99Ms / solo.burstP99Ms,
        },
        retained: {
          measured: measured.bestEffort.retained.value,
          modelled: (modelled.perS[0] ?? 0) / (alone.perS[0] ?? 1),
        },
      },
    ];
  });
}

const cell = ({ cells }: BenchResult, name: string): Cell | undefined =>
  cells.find(({ arrangement, status }) => arrangement === name && status === "ok");

type Figure = "burstP50" | "burstP99" | "retained";
const error = (one: Compared, of: Figure) => Math.abs(one[of].modelled / one[of].measured - 1);

/** Of two arrangements of one call that differ by more than this, the model must say which is larger. */
const DIFFER = 0.05;

function ordered(all: readonly Compared[], of: Figure) {
  let right = 0;
  let count = 0;
  for (const one of all)
    for (const other of all) {
      if (one.file !== other.file || one[of].measured <= other[of].measured * (1 + DIFFER))
        continue;
      count++;
      if (one[of].modelled > other[of].modelled) right++;
    }
  return { right, of: count };
}

const summary = (all: readonly Compared[]) => ({
  cells: all.length,
  burstP50Error: median(all.map((one) => error(one, "burstP50"))),
  burstP99Error: median(all.map((one) => error(one, "burstP99"))),
  retainedError: median(all.map((one) => error(one, "retained"))),
  burstP50Order: ordered(all, "burstP50"),
  retainedOrder: ordered(all, "retained"),
});

const cells = readdirSync(RESULTS)
  .filter((file) => file.includes("h200-bench-"))
  .flatMap(compare);
const isFitted = ({ pair }: Compared) => fitted.includes(pair);
const judged = cells.filter((one) => !isFitted(one));
for (const one of cells) {
  const { burstP50, burstP99, retained } = one;
  const both = ({ measured, modelled }: { measured: number; modelled: number }) =>
    `${measured.toFixed(2)} ${modelled.toFixed(2)}`.padEnd(12);
  console.log(
    `${isFitted(one) ? "F" : " "} ${one.pair.padEnd(32)} ${one.load} ${one.arrangement.padEnd(16)} burst p50 ${both(burstP50)} p99 ${both(burstP99)} kept ${both(retained)}`,
  );
}
const summaries = {
  fitted: summary(cells.filter(isFitted)),
  judged: summary(judged),
  byArrangement: Object.fromEntries(
    arrangements.map((name) => [
      name,
      summary(judged.filter(({ arrangement }) => arrangement === name)),
    ]),
  ),
};
console.log(JSON.stringify(summaries));
save("model-world", { chosenOn: fitted, seconds: SECONDS, ...summaries, cells });
