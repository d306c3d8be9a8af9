import { type Refusal, UserError, withPlace } from "#core";
import { type MetricName, unitOf } from "./metrics.ts";

export const badModel: Refusal = (file, place, what) =>
  new UserError(
    "BAD_MODEL",
    withPlace(file, place, what),
    'Make one with "cotenant-lab predict train".',
  );

export const lacksMetric = (who: string, name: MetricName) =>
  new UserError(
    "LACKS_METRIC",
    `${who} has no ${name} (${unitOf(name)}), which this model needs.`,
    "Profile it with what counts that, or train a model on the metrics that all have.",
  );

export const badMetric = (who: string, name: string, value: unknown) =>
  new UserError(
    "BAD_METRIC",
    `${who}: its ${name} is ${String(value)}, not a number of 0 or more.`,
  );

export const nothingToLearn = (why: string) =>
  new UserError("NOTHING_TO_LEARN", `There is nothing to learn from: ${why}.`);

export const badShare = (value: number) =>
  new UserError("BAD_SHARE", `An SM share of ${value} is not above 0 and at most 1.`);
