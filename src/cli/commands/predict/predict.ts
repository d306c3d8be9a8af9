// Who goes with whom: models of colocations, trained on measured ones, asked about others, judged.
import { parseResult } from "#bench";
import { dateNow, errors, usage } from "#core";
import {
  accuracyOf,
  autoregressiveFeatures,
  choose,
  type Features,
  fitOf,
  formatModel,
  goals,
  type LearnerName,
  learnerNames,
  learners,
  listScore,
  type Measured,
  type MetricName,
  meanOf,
  metricNames,
  ofOracle,
  openModel,
  parseModel,
  popularity,
  predictedScore,
  profileFeatures,
  type Ranked,
  rank,
  readTable,
  regret,
  rules,
  type Score,
  seeded,
  sharedMetrics,
  shuffled,
  train,
  type Workload,
} from "#predict";
import { ProfileStore, readProfileFile, type WorkloadProfile } from "#profile";
import { type Args, choice, command, json, list, number, text } from "../../command.ts";
import { checkWritable, isFile, readGiven, writeGiven } from "../../../core/files.ts";
import { collected } from "../../../bench/colocations.ts";
import { percent, table } from "../../../core/print.ts";

const whole = { min: 1, whole: true };

const options = {
  arrangement: text("NAME", "mps", "collect: the bench's arrangement whose cells are taken"),
  data: text("FILE", undefined, "train, evaluate: measured colocations (docs/predict.md)"),
  profiles: text("DIR", undefined, "the folder in which profiles given by name are"),
  learner: choice(
    learnerNames,
    "ours",
    `train:\n${learnerNames.map((name) => `${name}: ${learners[name].summary}`).join("\n")}`,
  ),
  learners: list("NAME", `evaluate: these learners instead of all: ${learnerNames.join(", ")}`),
  metric: list(
    "NAME",
    "train, evaluate: look at these metrics only; by default at all that every workload has",
  ),
  seed: number("N", 0, "seed of what is random: training and splits", {
    min: 0,
    max: 1e6,
    whole: true,
  }),
  out: text("FILE", undefined, "collect: the measurements to write; train: the model"),
  model: text("FILE", undefined, "rank: a model that train wrote"),
  target: text(
    "PROFILE",
    undefined,
    "rank: the job that is to get company: a profile file, or a name under --profiles or in --data",
  ),
  candidates: list(
    "PROFILE",
    "rank: the jobs that it could get, likewise; several with commas, or the option again",
  ),
  with: list("PROFILE", "rank: what runs beside the target already"),
  "first-token": text(
    "PROFILE",
    undefined,
    "rank: the target is autoregressive, and this is the profile of its decoding step",
  ),
  tokens: number("N", 128, "rank: how long an answer of an autoregressive target is", whole),
  goal: choice(
    goals,
    "retained",
    "rank, evaluate: what is best: the largest sum of retained throughputs, or of throughputs",
  ),
  splits: number("N", 20, "evaluate: how many random ones", whole),
  part: number("P", 0.2, "evaluate: the part of the colocations to train on", {
    min: 0.05,
    max: 0.95,
  }),
  limit: number("S", 60, "train, evaluate: seconds for the learner search", { min: 0.1 }),
  json,
};

type Given = Args<typeof options>;

export const predictCommand = command({
  name: "predict",
  summary: "which jobs go well together, from their profiles alone: collect, train, rank, evaluate",
  options,
  positional: {
    name: "collect RESULT… | train | rank | evaluate",
    doc:
      "collect needs results of cotenant bench and --out; train --data and --out; " +
      "rank --model, --target and --candidates; evaluate --data",
    atLeast: 1,
  },
  examples: [
    "cotenant predict collect result.json --out measured.json",
    "cotenant predict train --data measured.json \\\n  --profiles bench/profiles/h200 --out model.json",
    "cotenant predict rank --model model.json \\\n  --profiles bench/profiles/h200 --target bert-graph \\\n  --candidates bert-train,gpt2-train",
  ],
  async run(args) {
    const [verb, stray] = args.positional;
    if (stray !== undefined && verb !== "collect")
      throw errors.strayArgument(`predict ${verb}`, stray);
    switch (verb) {
      case "collect":
        return collect(args);
      case "train":
        return trainOne(args);
      case "rank":
        return rankAll(args);
      case "evaluate":
        return evaluate(args);
      default:
        throw usage(`"predict" can't do "${verb}".`, "Known: collect, train, rank, evaluate.");
    }
  },
});

function collect({ positional: [, ...files], arrangement, out }: Given): number {
  if (files.length === 0) throw errors.missingArgument("predict collect", "RESULT …");
  if (out === undefined) throw errors.missingArgument("predict collect", "--out FILE");
  checkWritable(out);
  const results = files.map((path) => parseResult(readGiven(path, "result"), path));
  const { source, ...rest } = collected(results, arrangement);
  writeGiven(out, `${JSON.stringify({ ...rest, source }, null, 1)}\n`);
  console.log(
    `${out}: ${rest.colocations.length} colocations of ${files.length} results (${source})`,
  );
  return 0;
}

function trainOne(args: Given): number {
  const { out, learner } = args;
  if (out === undefined) throw errors.missingArgument("predict train", "--out FILE");
  const measured = measuredIn(args, "train");
  checkWritable(out);
  const model = train(
    learner,
    measured.colocations,
    metricsOf(measured, args),
    trainingOf(args),
    {
      source: measured.source,
      date: dateNow(),
      command: ["cotenant", ...process.argv.slice(2)].join(" "),
    },
    nameIn(measured),
  );
  writeGiven(out, formatModel(model));
  const { metrics, provenance } = model;
  const said = { out, learner, colocations: provenance.colocations, metrics };
  console.log(
    args.json
      ? JSON.stringify(said, null, 2)
      : `${out}: ${learner}, from ${provenance.colocations} colocations and ${metrics.length} metrics (${metrics.join(", ")})`,
  );
  return 0;
}

function rankAll(args: Given): number {
  if (args.model === undefined) throw errors.missingArgument("predict rank", "--model FILE");
  if (args.target === undefined) throw errors.missingArgument("predict rank", "--target PROFILE");
  const model = parseModel(readGiven(args.model, "model"), args.model);
  const known = args.data === undefined ? undefined : measuredIn(args, "rank");
  const workload = (name: string) => workloadNamed(name, args, known);
  const ranked = rank(
    openModel(model),
    targetOf(args.target, args, workload),
    commas(args.candidates).map(workload),
    args.goal,
    commas(args.with).map(workload),
  );
  console.log(
    args.json
      ? JSON.stringify({ target: args.target, goal: args.goal, ranked }, null, 2)
      : rankedTable(ranked).join("\n"),
  );
  if (ranked.some(({ familiar }) => !familiar))
    console.error(
      "predict: what is marked ? is unlike everything this model learned from: measure it before you rely on it.",
    );
  return 0;
}

const commas = (given: readonly string[]) =>
  given.flatMap((text) => text.split(",")).filter((name) => name !== "");

function targetOf(target: string, args: Given, workload: (name: string) => Workload): Workload {
  const token = args["first-token"];
  if (token === undefined) return workload(target);
  const features = autoregressiveFeatures(
    profileNamed(target, args) ?? unknownWorkload(target, args),
    profileNamed(token, args) ?? unknownWorkload(token, args),
    args.tokens,
  );
  return { name: target, features };
}

function rankedTable(ranked: readonly Ranked[]): string[] {
  const names = ranked[0]?.clients.slice(0, -1).map(({ name }) => name) ?? [];
  return table(
    [
      ["candidate", "", "score", ...names.map((name) => `${name} keeps`), "candidate keeps"],
      ...ranked.map(({ candidate, score, clients, familiar }) => [
        candidate,
        familiar ? "" : "?",
        score.toPrecision(4),
        ...clients.map(
          ({ retained, low, high }) => `${percent(retained)} (${percent(low)} to ${percent(high)})`,
        ),
      ]),
    ],
    2,
  );
}

/** Two rows would be no split. */
const FEWEST_HELD = 2;

function evaluate(args: Given): number {
  const measured = measuredIn(args, "evaluate");
  const { colocations } = measured;
  const metrics = metricsOf(measured, args);
  const names = learnersIn(args);
  const size = Math.round(args.part * colocations.length);
  if (colocations.length - size < FEWEST_HELD)
    throw usage(
      `${colocations.length} colocations leave none to be judged by.`,
      "Give a smaller --part.",
    );
  const found = new Map<string, Figures[]>();
  for (let split = 0; split < args.splits; split++) {
    const mixed = shuffled(colocations, seeded(args.seed + split));
    const [learned, held] = [mixed.slice(0, size), mixed.slice(size)];
    const note = (name: string, figures: Figures) =>
      found.set(name, [...(found.get(name) ?? []), figures]);
    for (const name of names) {
      const model = train(
        name,
        learned,
        metrics,
        { ...trainingOf(args), seed: args.seed + split },
        { source: measured.source, date: "", command: "" },
        nameIn(measured),
      );
      const predictor = openModel(model);
      const score = predictedScore(predictor, args.goal);
      const { error, covered } = accuracyOf(held, predictor);
      note(name, {
        ...chosenBy(held, score, args),
        ...fitOf(held, score, args.goal),
        error,
        covered,
      });
    }
    note("list of partners", chosenBy(held, listScore(popularity(learned, args.goal)), args));
    for (const [name, score] of Object.entries(rules))
      if (
        held.every(({ sides }) =>
          sides.every(({ features }) => features[NEEDED[name] ?? "smBusy"] !== undefined),
        )
      )
        note(name, chosenBy(held, score, args));
    console.error(`predict: ${split + 1} of ${args.splits} splits`);
  }
  const results = [...found].map(([name, all]) => ({ name, ...meanFigures(all) }));
  const { goal, splits, part } = args;
  console.log(
    args.json
      ? JSON.stringify({ goal, splits, part, metrics, results }, null, 2)
      : figuresTable(results).join("\n"),
  );
  return 0;
}

/** What each rule looks at. */
const NEEDED: Readonly<Record<string, MetricName>> = {
  memcap: "memoryGB",
  "sm%": "smBusy",
  "mem%": "memoryBusy",
};

/** Over held-out rows; those that only choose have no fit. */
interface Figures {
  readonly ofOracle: number;
  readonly regret: number;
  readonly r2?: number;
  readonly rmse?: number;
  readonly error?: number;
  readonly covered?: number;
}

function chosenBy(held: Measured["colocations"], score: Score, { goal }: Given): Figures {
  const choices = choose(held, score, goal);
  return { ofOracle: ofOracle(choices), regret: regret(choices) };
}

function meanFigures(all: readonly Figures[]): Figures {
  const keys = Object.keys(all[0] ?? {}) as (keyof Figures)[];
  const means = keys.map((key) => [key, meanOf(all.map((one) => one[key] ?? Number.NaN))]);
  return Object.fromEntries(means);
}

const figuresTable = (results: readonly (Figures & { readonly name: string })[]): string[] =>
  table(
    [
      ["", "of the oracle", "regret", "R2", "RMSE", "error of retained", "within bounds"],
      ...results.map(({ name, ...figures }) => [
        name,
        percent(figures.ofOracle),
        figures.regret.toPrecision(3),
        figures.r2?.toFixed(2) ?? "-",
        figures.rmse?.toPrecision(3) ?? "-",
        figures.error?.toFixed(3) ?? "-",
        figures.covered === undefined ? "-" : percent(figures.covered),
      ]),
    ],
    1,
  );

function learnersIn({ learners }: Given): readonly LearnerName[] {
  const given = commas(learners).map((name) => {
    const known = learnerNames.find((one) => one === name);
    if (!known)
      throw usage(`No learner is called "${name}".`, `Known: ${learnerNames.join(", ")}.`);
    return known;
  });
  return given.length > 0 ? given : learnerNames;
}

function metricsOf(measured: Measured, { metric }: Given): readonly MetricName[] {
  const given = commas(metric).map((name) => {
    const known = metricNames.find((one) => one === name);
    if (!known) throw usage(`No metric is called "${name}".`, `Known: ${metricNames.join(", ")}.`);
    return known;
  });
  return given.length > 0 ? given : sharedMetrics([...measured.workloads.values()]);
}

const trainingOf = ({ seed, limit }: Given) => ({
  seed,
  searchMs: 1000 * limit,
  now: () => performance.now(),
});

const nameIn =
  ({ workloads }: Measured) =>
  (features: Features): string =>
    [...workloads].find(([, known]) => known === features)?.[0] ?? "A workload";

function measuredIn(args: Given, verb: string): Measured {
  if (args.data === undefined) throw errors.missingArgument(`predict ${verb}`, "--data FILE");
  return readTable(readGiven(args.data, "measurements"), args.data, (name) => {
    const profile = profileNamed(name, args);
    return profile && profileFeatures(profile);
  });
}

function workloadNamed(name: string, args: Given, known: Measured | undefined): Workload {
  const profile = profileNamed(name, args);
  const features = profile ? profileFeatures(profile) : known?.workloads.get(name);
  return { name: profile?.name ?? name, features: features ?? unknownWorkload(name, args) };
}

function profileNamed(name: string, args: Given): WorkloadProfile | undefined {
  if (isFile(name)) return readProfileFile(name);
  if (args.profiles === undefined) return undefined;
  const found = new ProfileStore(args.profiles).list().filter((one) => one.name === name);
  if (found.length > 1)
    throw usage(`${name} has profiles of several GPUs in ${args.profiles}.`, "Give its file.");
  return found[0] && readProfileFile(found[0].path);
}

function unknownWorkload(name: string, { profiles }: Given): never {
  throw usage(
    `There is no workload ${name}: it is no profile file, and no name in ${profiles ?? "any folder"}.`,
    profiles === undefined ? "Give a file, or the folder of names with --profiles DIR." : "",
  );
}
