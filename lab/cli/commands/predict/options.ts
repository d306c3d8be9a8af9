import { type Args, choice, flag, json, list, number, place, text } from "#cli";
import { goals } from "#evaluation";
import { learnerNames, learners } from "#predict";

const whole = { min: 1, whole: true };

export const options = {
  arrangement: text(
    "NAME",
    "strict-isolated",
    "collect: the arrangement whose cells or pairs are taken; by default what runs where no objective is stated. Of a cluster's pairs it is the POLICY-MODE of the nodes' agents",
  ),
  gpu: text("MODEL", undefined, "collect: of a cluster's pairs, those on this model of GPU"),
  data: text("FILE", undefined, "train, evaluate: measured colocations (docs/guide/prediction.md)"),
  profiles: place("DIR", undefined, "the folder in which profiles given by name are"),
  "skip-unknown": flag(
    "train, evaluate: leave out colocations of workloads that have no profile and no description",
  ),
  learner: choice(
    learnerNames,
    "mixed",
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
    "rank: the job that is to get a neighbour: a profile file, or a name under --profiles or in --data",
  ),
  candidates: list(
    "PROFILE",
    "rank: the jobs that it could get, likewise; several with commas, or the option again",
  ),
  with: list("PROFILE", "rank: what runs concurrently with the target already"),
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

export type Options = Args<typeof options>;

/** A list may be given by commas, too. */
export const commas = (given: readonly string[]) =>
  given.flatMap((text) => text.split(",")).filter((name) => name !== "");
