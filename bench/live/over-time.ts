// Latency and throughput over time, of one measurement whose load changes by steps:
//   cotenant-lab bench responsiveness --rounds 1 --out RESULT.json --raw RAW.json
//   npx tsx bench/live/over-time.ts RESULT.json RAW.json OUT.json OUT.svg
// OUT.json has the bins with the provenance of RESULT.json. Of several rounds the first is shown: arrivals differ.
import { readFileSync, writeFileSync } from "node:fs";
import { parseResult } from "#bench";
import { binned, iterationsPerS, type RawWindow } from "./binned.ts";
import { type OverTime, overTimeChart } from "./over-time-chart.ts";

const BIN_S = 0.25;

const [, , resultPath = "", rawPath = "", outPath = "", svgPath = ""] = process.argv;
if (svgPath === "") {
  console.error("usage: npx tsx bench/live/over-time.ts RESULT.json RAW.json OUT.json OUT.svg");
  process.exit(2);
}
const result = parseResult(readFileSync(resultPath, "utf8"), resultPath);
const [round] = JSON.parse(readFileSync(rawPath, "utf8")) as Record<string, RawWindow>[];
const alone = round?.alone;
const steps = result.cells.find((cell) => cell.steps !== undefined)?.steps;
if (!round || !alone || !steps) {
  console.error(
    `${resultPath}: its load does not change by steps, or ${rawPath} is of another run.`,
  );
  process.exit(2);
}
const base = iterationsPerS(alone);
const seen: OverTime = {
  high: result.scenario.high.name,
  bestEffort: result.scenario.bestEffort.map(({ name }) => name).join(" + "),
  gpu: result.machine.gpu,
  binS: BIN_S,
  steps: steps.map(({ seconds, ratePerS }) => ({ seconds, ratePerS })),
  arrangements: result.cells.flatMap(({ arrangement: name }) => {
    const window = round[name];
    if (!window || name === "alone") return [];
    return [{ name, bins: binned(window, BIN_S, base) }];
  }),
};
const { date, machine, commit, command } = result;
const made = {
  version: 1,
  kind: "over-time",
  ...{ date, machine, commit, command },
  madeBy: "bench/live/over-time.ts",
  ...seen,
};
writeFileSync(outPath, `${JSON.stringify(made)}\n`);
writeFileSync(svgPath, overTimeChart(seen));
