// The measurements from which `train` and `evaluate` learn, chosen by options.
import { errors, readGiven, usage } from "#core";
import { type Measured, readTable } from "#evaluation";
import {
  type Features,
  type MetricName,
  metricNames,
  profileFeatures,
  sharedMetrics,
} from "#predict";
import { commas, type Options } from "./options.ts";
import { profileNamed } from "./workloads.ts";

export function metricsOf(measured: Measured, { metric }: Options): readonly MetricName[] {
  const given = commas(metric).map((name) => {
    const known = metricNames.find((one) => one === name);
    if (!known) throw usage(`No metric is called "${name}".`, `Known: ${metricNames.join(", ")}.`);
    return known;
  });
  return given.length > 0 ? given : sharedMetrics([...measured.workloads.values()]);
}

export const trainingOf = ({ seed, limit }: Options) => ({
  seed,
  searchMs: 1000 * limit,
  now: () => performance.now(),
});

export const nameIn =
  ({ workloads }: Measured) =>
  (features: Features): string =>
    [...workloads].find(([, known]) => known === features)?.[0] ?? "A workload";

export function measuredIn(args: Options, verb: string): Measured {
  if (args.data === undefined) throw errors.missingArgument(`predict ${verb}`, "--data FILE");
  return readTable(readGiven(args.data, "measurements"), args.data, (name) => {
    const profile = profileNamed(name, args);
    return profile && profileFeatures(profile);
  });
}
