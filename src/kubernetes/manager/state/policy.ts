import { DEFAULT_LIMITS } from "#place";
import { POLICY } from "../../labels/names.ts";
import { meets } from "./fit.ts";
import type { LabelSelector, PolicySpec, SharingPolicy } from "./objects.ts";

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
