// Cotenant's scheduler beside MuxFlow's and others on simulated days, and the simulator beside a real testbed:
// `npx tsx bench/cluster/run.ts OUT.json all|SCHEDULER,… SCENARIO…`, scenarios by name from bench/cluster/scenarios, with
// `:LEARNER` behind it for another learner of forecasts. The data they read are no part of the repository: COTENANT_DATA
// says where they are (docs/guide/cluster.md says from where).
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { columns, type Figures, readClusterScenario, simulate } from "#cluster";
import { table } from "#core";
import { dataFolder } from "../data.ts";

/** Compared with each other by more than the spread over seeds; the others are seen on one seed. */
const COMPARED = ["kace-greedy@once", "muxflow", "muxflow@once", "cotenant", "cotenant-several"];
/** Seed 1 is left out: on it limit and price in lab/cluster/schedulers/cotenant.ts were chosen. */
const SEEDS = [2, 3, 4];

const here = import.meta.dirname;
const [out, only, ...names] = process.argv.slice(2);
if (out === undefined || only === undefined || names.length === 0) {
  console.error("npx tsx bench/cluster/run.ts OUT.json all|SCHEDULER,… SCENARIO…");
  process.exit(2);
}

type Kept = Omit<Figures, "series" | "jcts"> & {
  readonly cpuSeconds: number;
  /** Peak memory of the process so far. */
  readonly maxMegabytes: number;
};

const scenarios = names.map((name) => {
  const [file, forecast] = name.split(":");
  const json: unknown = {
    ...JSON.parse(readFileSync(join(here, "scenarios", `${file}.json`), "utf8")),
    ...(forecast === undefined ? {} : { forecast }),
  };
  const read = (path: string) => readFileSync(path.replace(/^data:/, `${dataFolder}/`), "utf8");
  const schedulers = only === "all" ? undefined : only.split(",");
  const scenario = readClusterScenario(JSON.stringify(json), name, read, { schedulers });
  const figures: Kept[] = [];
  for (const kind of scenario.schedulers)
    for (const seed of SEEDS.slice(0, COMPARED.includes(kind.name) ? scenario.seeds.length : 1)) {
      const before = process.cpuUsage();
      const { series, jcts, ...kept } = simulate(scenario.plan(seed), kind);
      const { user, system } = process.cpuUsage(before);
      const maxMegabytes = process.resourceUsage().maxRSS / 1e3;
      figures.push({ ...kept, cpuSeconds: (user + system) / 1e6, maxMegabytes });
      console.error(
        `${name} ${kind.name} seed ${seed}: ${((user + system) / 1e6).toFixed(1)} s of CPU, at most ${maxMegabytes.toFixed(0)} MB so far`,
      );
    }
  print(name, figures);
  return { name, about: scenario.about, figures };
});

writeFileSync(
  out,
  `${JSON.stringify({
    version: 1,
    made: new Date().toISOString(),
    machine: `${cpus()[0]?.model} x ${cpus().length}, shared; CPU seconds of one process`,
    node: process.version,
    commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
    command: `npx tsx bench/cluster/run.ts OUT.json ${only} ${names.join(" ")}`,
    scenarios,
  })}\n`,
);

function print(name: string, figures: readonly Kept[]): void {
  console.log(`\n${name}`);
  const rows = [...new Set(figures.map(({ scheduler }) => scheduler))].map((scheduler) => {
    const own = figures
      .filter((one) => one.scheduler === scheduler)
      .map((one): Figures => ({ ...one, series: [], jcts: [] }));
    return [scheduler, ...columns.map(({ of }) => of(own))];
  });
  console.log(table([["scheduler", ...columns.map(({ title }) => title)], ...rows], 1).join("\n"));
}
