// `cotenant-lab predict rank`: which candidate goes best with a job.

import { errors, percent, readGiven, table } from "#core";
import { autoregressiveFeatures, type Ranked, rank, type Workload } from "#evaluation";
import { openModel, parseModel } from "#predict";
import { measuredIn } from "./measurements.ts";
import { commas, type Options } from "./options.ts";
import { profileNamed, unknownWorkload, workloadNamed } from "./workloads.ts";

export function rankAll(args: Options): number {
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

function targetOf(target: string, args: Options, workload: (name: string) => Workload): Workload {
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
