// The operator's SharingPolicy, with defaults for what it does not say.
import { DEFAULT_LIMITS } from "#place";
import { POLICY } from "../../labels/names.ts";
import { meets } from "./fit.ts";
import type { LabelSelector, PolicySpec, SharingPolicy } from "./objects.ts";

/** The schema in deploy/kubernetes describes each. */
const defaults: PolicySpec = {
  ...DEFAULT_LIMITS,
  intervalSeconds: 5,
  podsPerGpu: 16,
  nodeSelector: {},
  namespaceSelector: {},
  paused: false,
  dryRun: false,
  drain: false,
  serviceAgeSeconds: 600,
  besideSeveralGpus: false,
};

export const policyOf = (policies: Iterable<SharingPolicy>): PolicySpec => ({
  ...defaults,
  ...[...policies].find(({ metadata }) => metadata.name === POLICY)?.spec,
});

/** An empty selector selects everything. */
export const selects = (
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>> = {},
): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every((one) => meets(one, labels));
