// The manager forecasts each of the nine measured pairs from the measurements of the other eight.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { collectSides, parseResult } from "#bench";
import { forecasts, learning, policyOf } from "#kubernetes";
import { openModel, profileFeatures, sharedMetrics, train } from "#predict";
import { parseProfile } from "#profile";

const services = ["bert-graph", "resnet50-graph", "resnet50-eager"];
const trainings = ["bert-train", "gpt2-train", "resnet50-train"];
const features = new Map(
  [...services, ...trainings].map((name) => {
    const file = `bench/profiles/h200/${name}.json`;
    return [name, profileFeatures(parseProfile(readFileSync(file, "utf8"), file))];
  }),
);
const files = readdirSync("bench/results").filter((name) =>
  /^2026-11-2[02]-h200-bench-.*(-train|all-policies)\.json$/.test(name),
);
const results = files.map((name) => {
  const file = `bench/results/${name}`;
  return parseResult(readFileSync(file, "utf8"), file);
});
const measured = collectSides(results, "strict-isolated").colocations.filter(({ clients }) =>
  clients.every(({ workload }) => features.has(workload)),
);
const rows = (of: typeof measured) =>
  of.map(({ clients }) => ({
    sides: clients.map(({ workload, retained }) => ({
      ...{ features: features.get(workload) ?? {}, retained, smShare: 1 },
    })),
  }));
const profiles = [...features].map(([name, metrics]) => ({
  metadata: {
    ...{ name, namespace: "default", uid: name, resourceVersion: "1" },
    creationTimestamp: "2026-11-22T00:00:00Z",
  },
  spec: { gpu: "H200", metrics: { ...metrics } },
}));
const pod = (profile: string) => ({
  metadata: {
    ...{ name: profile, namespace: "default", uid: profile, resourceVersion: "1" },
    creationTimestamp: "2026-11-22T00:00:00Z",
    annotations: { "cotenant.io/profile": profile },
  },
  spec: {},
  status: {},
});

test.each(services.flatMap((service) => trainings.map((training) => [service, training] as const)))(
  "%s with %s is allowed though nobody measured it",
  (service, training) => {
    const others = measured.filter(
      ({ clients: [high, bestEffort] }) =>
        high.workload !== service || bestEffort.workload !== training,
    );
    expect(others.length).toBeLessThan(measured.length);
    const model = train(
      "mixed",
      rows(others),
      sharedMetrics([...features.values()]),
      { seed: 0, searchMs: 0, now: () => 0 },
      { source: "H200", date: "", command: "" },
    );
    const known = forecasts(openModel(model), profiles, learning());
    const forecast = known.of(
      known.profileOf(pod(service)),
      known.profileOf(pod(training)),
      { model: "H200", activeShare: 0.3 },
      0,
    );
    expect(forecast.from).toBe("profiles");
    expect(forecast.slowdown).toBeLessThan(policyOf([]).mostSlowdown);
  },
);
