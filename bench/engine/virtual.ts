// The policy `cotenant` beside engines in virtual time (src/offline/llm-model), compared with the best share of the time that is
// fixed: the largest that breaks at most one window in a hundred more than `strict` does under the same arrivals.
//   npx tsx bench/engine/virtual.ts [--seeds 24] [--seconds 300] [--only NAME] [--random FROM-TO] [--told] [--fixed FILE] > out.json
// `--random`: random engines of these numbers in place of the list, to try a change on some that it was not made with.
// `--told`: the engines tell of each request themselves, in place of histograms that are read.
// `--fixed`: a file of bench/results that holds earlier output, whose fixed shares are taken instead of being searched again.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bestFixed, keptIn, type Outcome, played, type Run, windowsOf } from "#llm-model";
import { statedKinds } from "#policy";
import { anyEngine, type Scenario, scenarios } from "./scenarios.ts";

const { values: given } = parseArgs({
  options: {
    seeds: { type: "string", default: "24" },
    seconds: { type: "string", default: "300" },
    only: { type: "string" },
    random: { type: "string" },
    told: { type: "boolean", default: false },
    fixed: { type: "string" },
  },
});
const seconds = Number(given.seconds);
const seeds = Array.from({ length: Number(given.seeds) }, (_, i) => 101 + i);
const earlier: readonly Row[] = given.fixed
  ? JSON.parse(readFileSync(given.fixed, "utf8")).scenarios
  : [];

/** Of the time in which the policy learns, and after. */
const PARTS = [10, 30, 60, 120, seconds];

interface Measured {
  /** By part of the run: what best-effort work gets, and how many windows are broken. */
  readonly kept: readonly number[];
  readonly broken: readonly number[];
  /** From the second part on, which is from 30 s. */
  readonly keptLater: number;
  readonly brokenLater: number;
}

interface Row {
  readonly scenario: string;
  readonly limitsMs: Readonly<Record<string, number>>;
  readonly strict: Measured;
  readonly best: Measured & { readonly level: number };
  readonly cotenant: Measured;
}

const mean = (values: readonly number[]) =>
  values.reduce((sum, one) => sum + one, 0) / values.length;

function measure(run: Omit<Run, "seed">, fixed?: number): Measured {
  const outcomes = seeds.map((seed) =>
    played({ ...run, seed, ...(fixed !== undefined && { fixed }) }),
  );
  const kept = (fromS: number, toS: number) => mean(outcomes.map((one) => keptIn(one, fromS, toS)));
  const broken = (fromS: number, toS: number) => brokenIn(outcomes, run, fromS, toS);
  const parts = PARTS.slice(1).map((toS, i) => [PARTS[i] ?? 0, toS] as const);
  return {
    kept: parts.map(([from, to]) => kept(from, to)),
    broken: parts.map(([from, to]) => broken(from, to)),
    keptLater: kept(30, seconds),
    brokenLater: broken(30, seconds),
  };
}

function brokenIn(
  outcomes: readonly Outcome[],
  { limits }: Pick<Run, "limits">,
  from: number,
  to: number,
) {
  const all = outcomes.map((outcome) => windowsOf(outcome, limits, from, to));
  return (
    all.reduce((sum, { broken }) => sum + broken, 0) /
    all.reduce((sum, { windows }) => sum + windows, 0)
  );
}

function bestOf(run: Omit<Run, "seed">, strict: Measured) {
  const best = bestFixed(
    strict.brokenLater,
    (level) => measure(run, level),
    ({ brokenLater }) => brokenLater,
  );
  return best ? { level: best.level, ...best.measured } : { level: 0, ...strict };
}

function rowOf({ name, run, limits: made }: Scenario): Row {
  const limits = made();
  const known = earlier.find(({ scenario }) => scenario === name);
  const limited = { ...run, limits, seconds, tellsItself: given.told };
  const strict = known?.strict ?? measure(limited, 0);
  const best = known?.best ?? bestOf(limited, strict);
  const limitsMs = Object.fromEntries(
    statedKinds(limits).map((kind) => [kind, (limits[kind] ?? 0) / 1000]),
  );
  return { scenario: name, limitsMs, strict, best, cotenant: measure(limited) };
}

const percent = (part: number) => (100 * part).toFixed(1);
const shown = ({ kept, broken }: Measured) =>
  `${kept.map(percent).join(" ")} (${broken.map(percent).join(" ")})`;

const [from = 1, to = from] = given.random?.split("-").map(Number) ?? [];
const tried = given.random
  ? Array.from({ length: to - from + 1 }, (_, i) => anyEngine(from + i))
  : scenarios;

const rows = tried
  .filter(({ name }) => given.only === undefined || name.includes(given.only))
  .map((make) => {
    const row = rowOf(make);
    const { scenario, strict, best, cotenant } = row;
    console.error(
      [
        scenario.padEnd(34),
        `strict ${percent(strict.keptLater)} / ${percent(strict.brokenLater)}`,
        `best ${best.level}: ${percent(best.keptLater)} / ${percent(best.brokenLater)}`,
        `cotenant ${percent(cotenant.keptLater)} / ${percent(cotenant.brokenLater)}`,
        `of best ${(cotenant.keptLater / best.keptLater).toFixed(2)}`,
        shown(cotenant),
      ].join("; "),
    );
    return row;
  });
console.log(JSON.stringify(rows, undefined, 1));
