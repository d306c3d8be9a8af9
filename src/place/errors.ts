import { UserError } from "#core";

export const badWeight = (high: string, job: string, weight: number) =>
  new UserError(
    "BAD_WEIGHT",
    `The weight of ${job} beside ${high} is ${weight}, which is no number.`,
    "Look at the features of both: one of them is missing or not a number.",
  );

export const noCandidates = (what: string) =>
  new UserError("NO_CANDIDATES", `There is nothing to place: the list of ${what} is empty.`);

export const tooManyPriorities = (levels: number, jobs: number, most: number) =>
  new UserError(
    "TOO_MANY_PRIORITIES",
    `${levels} levels of priority among ${jobs} jobs can't be distinguished exactly.`,
    `With this many jobs, ${most} levels can.`,
  );
