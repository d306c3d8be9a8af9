// Does advice hold on another GPU? Pairs that the bench measured on an H200 under MPS (KACE's arrangement), predicted from
// profiles that cotenant profile recorded: by models of KACE's V100 pairs, and by models of the other H200 pairs with
// all pairs of one workload left out at a time.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type BenchResult, collectSides, parseResult } from "#bench";
import { choose, predictedScore, readTable, regret } from "#evaluation";
import {
  accounted,
  accuracyOf,
  type Colocation,
  type Features,
  type LearnerName,
  learners,
  type MetricName,
  meanOf,
  type Predictor,
  profileFeatures,
  sharedMetrics,
} from "#predict";
import { kaceNames, readProfileFile } from "#profile";
import { BUSY_LINE, busyLine } from "./busy-line.ts";
import { trainingOf } from "./contestants.ts";
import { isConsistent, kacePairs } from "./kace.ts";

const ARRANGEMENT = "mps";
const root = join(import.meta.dirname, "../..");
const results = join(root, "bench/results");
const profiles = join(root, "bench/profiles/h200");

interface Pair extends Colocation {
  readonly names: readonly [string, string];
}

export function h200(say: (line: string) => void) {
  const { pairs, repeated } = measuredPairs(ARRANGEMENT);
  const trainings = readdirSync(results)
    .filter((file) => /-h200-bench-training-training(@policies)?\.json$/.test(file))
    .sort()
    .flatMap((file) => measuredIn(file, ARRANGEMENT));
  const learned = learnersOnOthers(pairs, say);
  const kace = kacePairs().filter(isConsistent);
  const shared = sharedOf(pairs);
  const inBoth = kaceNames.filter((name) => shared.includes(name));
  const fromKace = Object.fromEntries(
    (["ours", "linear", "forest"] as const).map((name) => {
      const state = learners[name].train(kace, inBoth, trainingOf(0));
      return [name, judged(pairs, () => learners[name].open(state, inBoth))];
    }),
  );
  const account = judged(pairs, () => byAccount);
  const line = judgedByLine(pairs);
  const mean = judgedByMean(pairs);
  return {
    arrangement: ARRANGEMENT,
    pairs: pairs.length,
    workloads: new Set(pairs.flatMap(({ names }) => names)).size,
    measured: pairs.map(({ names, sides }) => ({
      service: names[0],
      training: names[1],
      retained: sides.map(({ retained }) => round(retained)),
    })),
    repeated,
    fromKace: { metrics: inBoth, ...fromKace },
    accountOfBlocks: account,
    leftOut: { ...learned, [BUSY_LINE]: line, "mean of the others": mean },
    twoTrainings: {
      measured: trainings.map(({ names, sides }) => ({
        names,
        retained: sides.map(({ retained }) => round(retained)),
      })),
      accountOfBlocks: judged(trainings, () => byAccount),
      ...learnedFrom(pairs, trainings),
    },
    otherArrangements: Object.fromEntries(
      ["mps-priority", "time-slicing"].map((name) => [
        name,
        judged(measuredPairs(name).pairs, () => byAccount),
      ]),
    ),
    waits: waits(pairs),
  };
}

/** Models of all pairs, asked about others. */
const learnedFrom = (pairs: readonly Pair[], others: readonly Pair[]) =>
  Object.fromEntries(
    compared.map((name) => {
      const metrics = sharedOf(pairs);
      const model = learners[name].open(
        learners[name].train(pairs, metrics, trainingOf(0)),
        metrics,
      );
      return [name, judged(others, () => model)];
    }),
  );

function measuredIn(file: string, arrangement: string): Pair[] {
  const result: BenchResult = parseResult(readFileSync(join(results, file), "utf8"), file);
  if (!result.cells.some((cell) => cell.arrangement === arrangement && cell.high)) return [];
  const { colocations } = readTable(
    JSON.stringify(collectSides([result], arrangement)),
    file,
    featuresOf,
  );
  const names = [result.scenario.high.name, result.scenario.bestEffort[0]?.name ?? ""] as const;
  return colocations.map(({ sides }) => ({ names, sides }));
}

/** The first measurement at load 0.2 of each pair; others of the same pair say how well a measurement repeats. */
function measuredPairs(arrangement: string) {
  const files = readdirSync(results)
    .filter((file) => /-h200-bench-[a-z0-9-]+\+[a-z0-9-]+train(@0\.5|-repeat)?\.json$/.test(file))
    .sort((a, b) => a.replace(".json", "").localeCompare(b.replace(".json", "")));
  const of = new Map<string, Pair>();
  const differences: number[][] = [];
  for (const pair of files.flatMap((file) => measuredIn(file, arrangement))) {
    const key = pair.names.join("+");
    const first = of.get(key);
    if (!first) of.set(key, pair);
    else
      differences.push(
        pair.sides.map(({ retained }, i) => Math.abs(retained - (first.sides[i]?.retained ?? 0))),
      );
  }
  const mean = (i: number) => round(meanOf(differences.map((both) => both[i] ?? 0)));
  return {
    pairs: [...of.values()],
    repeated: { times: differences.length, service: mean(0), training: mean(1) },
  };
}

/** The nine pairs, for comparisons with other sets. */
export const h200Pairs = (): readonly Pair[] => measuredPairs(ARRANGEMENT).pairs;

const known = new Map<string, Features>();
function featuresOf(name: string): Features {
  const before = known.get(name);
  const features = before ?? profileFeatures(readProfileFile(join(profiles, `${name}.json`)));
  known.set(name, features);
  return features;
}

const sharedOf = (pairs: readonly Pair[]) =>
  sharedMetrics(pairs.flatMap(({ sides }) => sides.map(({ features }) => features)));

const round = (value: number): number => Number(value.toFixed(4));

/** `opened`: the predictor for a pair, which nothing of that pair went into. */
function judged(pairs: readonly Pair[], opened: (pair: Pair) => Predictor) {
  const services = pairs.map((pair) => {
    const [a, b] = pair.sides;
    if (!a || !b) throw new Error("a pair of one");
    const predict = (of: typeof a, beside: typeof a) =>
      opened(pair).predict(of.features, [beside.features]);
    return { pair, service: predict(a, b), training: predict(b, a), measured: [a, b] as const };
  });
  const accuracies = pairs.map((pair) => accuracyOf([pair], opened(pair)));
  const error = (side: 0 | 1) =>
    meanOf(
      services.map(({ service, training, measured }) =>
        Math.abs((side === 0 ? service : training).retained - measured[side].retained),
      ),
    );
  const names = [...new Set(pairs.map(({ names: [service] }) => service))];
  return {
    error: round(meanOf(accuracies.map((one) => one.error))),
    errorService: round(error(0)),
    errorTraining: round(error(1)),
    rankService: round(
      spearman(
        services.map(({ service }) => service.retained),
        services.map(({ measured }) => measured[0].retained),
      ),
    ),
    covered: round(meanOf(accuracies.map((one) => one.covered))),
    familiar: round(meanOf(accuracies.map((one) => one.familiar))),
    /** With three trainings for each service: the loss of the choice against the best sum of retained throughputs. */
    regret: round(
      meanOf(
        names.map((name) => {
          const own = pairs.filter(({ names: [service] }) => service === name);
          const target = own[0]?.sides[0]?.features;
          const scores = new Map(
            own.map((pair) => [
              pair as Colocation,
              predictedScore(opened(pair), "retained")(pair, pair.sides[0]?.features ?? {}),
            ]),
          );
          const score = (row: Colocation) => scores.get(row) ?? Number.NaN;
          return regret(choose(own, score, "retained").filter((one) => one.target === target));
        }),
      ),
    ),
    predicted: services.map(({ pair: { names }, service, training }) => ({
      service: names[0],
      training: names[1],
      retained: [round(service.retained), round(training.retained)],
      low: [round(service.low), round(training.low)],
      high: [round(service.high), round(training.high)],
    })),
  };
}

/** Without anything learned: half of a running block's rest for each kernel. */
const byAccount: Predictor = {
  predict(target, [other = {}]) {
    const retained = accounted(target, other, 0.5);
    return { retained, uncertainty: 0, low: retained, high: retained, familiar: true };
  },
};

const compared = ["ours", "linear", "ridge", "forest", "chosen"] as const satisfies LearnerName[];

/** Each workload's pairs are predicted by a model of the pairs without it; figures are means over both of a pair's. */
function learnersOnOthers(pairs: readonly Pair[], say: (line: string) => void) {
  const all = sharedOf(pairs);
  const unaccounted = all.filter((name) => name !== "kernelsPerMs" && name !== "blockWaitUs");
  const of = (name: LearnerName, metrics: readonly MetricName[], side: 0 | 1) => {
    const models = new Map<string, Predictor>();
    return judged(pairs, ({ names }) => {
      const out = names[side];
      const before = models.get(out);
      if (before) return before;
      const rest = pairs.filter((pair) => !pair.names.includes(out));
      const state = learners[name].train(rest, metrics, trainingOf(0));
      const made = learners[name].open(state, metrics);
      models.set(out, made);
      return made;
    });
  };
  const both = (name: LearnerName, metrics: readonly MetricName[]) => ({
    metrics,
    serviceLeftOut: of(name, metrics, 0),
    trainingLeftOut: of(name, metrics, 1),
  });
  return Object.fromEntries([
    ...compared.map((name) => {
      say(name);
      return [name, both(name, all)] as const;
    }),
    ["ours without the account", both("ours", unaccounted)] as const,
  ]);
}

function judgedByLine(pairs: readonly Pair[]) {
  const of = (side: 0 | 1) =>
    judged(pairs, ({ names }) => {
      const line = busyLine(pairs.filter((pair) => !pair.names.includes(names[side])));
      if (!line) throw new Error("a profile has no kernelShare");
      return line;
    });
  return { serviceLeftOut: of(0), trainingLeftOut: of(1) };
}

function judgedByMean(pairs: readonly Pair[]) {
  const of = (side: 0 | 1) =>
    judged(pairs, ({ names }) => {
      const rest = pairs.filter((pair) => !pair.names.includes(names[side]));
      const means = ([0, 1] as const).map((i) =>
        meanOf(rest.map(({ sides }) => sides[i]?.retained ?? 0)),
      );
      const services = new Set(pairs.map(({ sides }) => sides[0]?.features));
      return {
        predict(target) {
          const retained = means[services.has(target) ? 0 : 1] ?? 0;
          return { retained, uncertainty: 0, low: retained, high: retained, familiar: true };
        },
      };
    });
  return { serviceLeftOut: of(0), trainingLeftOut: of(1) };
}

/** The waits of a request's kernels, for services that never wait for their CPU, so that nothing hides them. */
function waits(pairs: readonly Pair[]) {
  return pairs.flatMap(({ names, sides: [service, training] }) => {
    const { kernelShare = 0, kernelsPerMs = 0 } = service?.features ?? {};
    if (!service || kernelShare < 1) return [];
    return [
      {
        service: names[0],
        training: names[1],
        waitUs: round((1000 * (1 / service.retained - 1)) / kernelsPerMs),
        blockWaitUs: round(training?.features.blockWaitUs ?? Number.NaN),
      },
    ];
  });
}

/** Rank correlation; no ties expected. */
function spearman(a: readonly number[], b: readonly number[]): number {
  const ranks = (values: readonly number[]) => {
    const order = [...values.keys()].sort((i, k) => (values[i] ?? 0) - (values[k] ?? 0));
    return values.map((_, i) => order.indexOf(i));
  };
  const [x, y] = [ranks(a), ranks(b)];
  const n = a.length;
  if (n < 3) return Number.NaN;
  const squares = x.reduce((sum, rank, i) => sum + (rank - (y[i] ?? 0)) ** 2, 0);
  return 1 - (6 * squares) / (n * (n * n - 1));
}
