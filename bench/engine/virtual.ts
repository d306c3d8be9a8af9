// The policy `cotenant` beside engines in virtual time (lab/llm-model), compared with the best share of the time that is
// fixed: the largest that breaks at most one window in a hundred more than `strict` does under the same arrivals. Both may end
// their share in steps that read prompts.
//   npx tsx bench/engine/virtual.ts [--seeds 4] [--seconds 600] [--only NAME] [--random N] [--draw SEED] [--told] [--fixed FILE] > out.json
// `--random`: so many random engines in place of the list; only sums are printed, since a policy that is changed after a look
// at one of them is made for it. They are drawn by the version of the package, so each release has others.
// `--told`: the engines report each request themselves, in place of histograms that are read.
// `--fixed`: a file of bench/results that holds earlier output, whose fixed shares are taken instead of being searched again.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bestFixed, keptIn, played, type Run, type Share, windowsOf } from "#llm-model";
import { requestLimits, statedIn } from "#policy";
import { anyEngine, type Scenario, scenarios } from "./scenarios.ts";

const { version } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { readonly version: string };

const { values: given } = parseArgs({
  options: {
    seeds: { type: "string", default: "4" },
    seconds: { type: "string", default: "600" },
    only: { type: "string" },
    random: { type: "string" },
    draw: { type: "string", default: version },
    told: { type: "boolean", default: false },
    fixed: { type: "string" },
  },
});
const seconds = Number(given.seconds);
const seeds = Array.from({ length: Number(given.seeds) }, (_, i) => 101 + i);
const earlier: readonly Row[] = given.fixed
  ? JSON.parse(readFileSync(given.fixed, "utf8")).rows
  : [];

/** The policy learns before. */
const FROM_S = 30;

interface Measured {
  /** The part of the time that best-effort work gets, and of the windows that are broken, from 30 s on. */
  readonly kept: number;
  readonly broken: number;
}

interface Row {
  readonly scenario: string;
  readonly limitsMs: Readonly<Record<string, number>>;
  readonly strict: Measured;
  readonly best: Measured & { readonly fixed?: Share };
  readonly cotenant: Measured;
}

const mean = (values: readonly number[]) =>
  values.reduce((sum, one) => sum + one, 0) / values.length;

function measure(run: Omit<Run, "seed">, fixed?: Run["fixed"]): Measured {
  const outcomes = seeds.map((seed) =>
    played({ ...run, seed, ...(fixed !== undefined && { fixed }) }),
  );
  const all = outcomes.map((outcome) => windowsOf(outcome, run.limits, FROM_S, seconds));
  return {
    kept: mean(outcomes.map((one) => keptIn(one, FROM_S))),
    broken:
      all.reduce((sum, { broken }) => sum + broken, 0) /
      all.reduce((sum, { windows }) => sum + windows, 0),
  };
}

function rowOf({ name, run, limits: made }: Scenario): Row {
  const limits = made();
  const known = earlier.find(({ scenario }) => scenario === name);
  const limited = { ...run, limits, seconds, tellsItself: given.told };
  const strict = known?.strict ?? measure(limited, "strict");
  const best =
    known?.best ?? bestFixed(strict.broken, (fixed) => measure(limited, fixed)) ?? strict;
  const limitsMs = Object.fromEntries(
    statedIn(requestLimits(limits)).map(({ kind, limitUs }) => [kind, limitUs / 1000]),
  );
  return { scenario: name, limitsMs, strict, best, cotenant: measure(limited) };
}

const percent = (part: number) => (100 * part).toFixed(1);
const shown = ({ kept, broken }: Measured) => `${percent(kept)} / ${percent(broken)}`;

const tried = given.random
  ? Array.from({ length: Number(given.random) }, (_, i) => anyEngine(drawOf(given.draw) + i))
  : scenarios;

const rows = tried
  .filter(({ name }) => given.only === undefined || name.includes(given.only))
  .map((make, i) => {
    const row = rowOf(make);
    const { scenario, strict, best, cotenant } = row;
    console.error(
      given.random
        ? `${i + 1} of ${tried.length}`
        : `${scenario.padEnd(44)} strict ${shown(strict)}; best ${shown(best)}; cotenant ${shown(cotenant)}; of best ${(cotenant.kept / best.kept).toFixed(2)}`,
    );
    return row;
  });
const summary = summaryOf(rows);
console.error(summary);
console.log(JSON.stringify(given.random ? { summary, rows } : { rows }, undefined, 1));

/** Ratios count as 1.2 at most, and those of engines that leave less than a percent of the time not at all. */
function summaryOf(all: readonly Row[]) {
  const roomy = all.filter(({ best, strict }) => best.kept > strict.kept + 0.01);
  const ratios = roomy.map(({ cotenant, best }) => Math.min(1.2, cotenant.kept / best.kept));
  return {
    engines: all.length,
    withRoom: roomy.length,
    meanRatio: mean(ratios),
    part90: ratios.filter((one) => one >= 0.9).length / ratios.length,
    ratioOfSums:
      mean(all.map(({ cotenant }) => cotenant.kept)) / mean(all.map(({ best }) => best.kept)),
    brokenMore: mean(all.map(({ cotenant, strict }) => cotenant.broken - strict.broken)),
    bestBrokenMore: mean(all.map(({ best, strict }) => best.broken - strict.broken)),
  };
}

function drawOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE(0);
}
