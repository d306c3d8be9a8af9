// The manager forecasts each of the nine measured pairs from the measurements of the other eight.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { collectSides, parseResult } from "#bench";
import { forecasts, pairsBy, policyOf } from "#kubernetes";
import { learning } from "#place";
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
/** Pairs of the profiled workloads, as they were measured in an arrangement. */
const measuredIn = (arrangement: string) =>
  collectSides(results, arrangement).colocations.filter(({ clients }) =>
    clients.every(({ workload }) => features.has(workload)),
  );
const metadata = (name: string, annotations = {}) => ({
  ...{ name, namespace: "default", uid: name, resourceVersion: "1", annotations },
  creationTimestamp: "2026-11-22T00:00:00Z",
});
const profiles = [...features].map(([name, metrics]) => ({
  metadata: metadata(name),
  spec: { gpu: "H200", metrics: { ...metrics } },
}));
const pod = (profile: string) => ({
  metadata: metadata(profile, { "cotenant.io/profile": profile }),
  spec: {},
  status: {},
});

/** The forecast that the manager makes of a pair from all that was measured of others in an arrangement. */
function forecastOf(service: string, training: string, arrangement: string) {
  const all = measuredIn(arrangement);
  const others = all.filter(
    ({ clients: [high, bestEffort] }) =>
      high.workload !== service || bestEffort.workload !== training,
  );
  expect(others.length).toBeLessThan(all.length);
  const rows = others.map(({ clients }) => ({
    sides: clients.map(({ workload, retained }) => ({
      ...{ features: features.get(workload) ?? {}, retained, smShare: 1 },
    })),
  }));
  const model = train(
    "mixed",
    rows,
    sharedMetrics([...features.values()]),
    { seed: 0, searchMs: 0, now: () => 0 },
    { source: "H200", date: "", command: "" },
  );
  const known = forecasts(pairsBy(openModel(model)), profiles, learning());
  const [high, bestEffort] = [known.profileOf(pod(service)), known.profileOf(pod(training))];
  return known.of(high, bestEffort, { model: "H200", activeShare: 0.3 }, 0);
}

const { mostSlowdown } = policyOf([]);

test.each(services.flatMap((service) => trainings.map((training) => [service, training] as const)))(
  "%s with %s is allowed though nobody measured it",
  (service, training) => {
    const { from, slowdown } = forecastOf(service, training, "strict-isolated");
    expect(from).toBe("profiles");
    expect(slowdown).toBeLessThan(mostSlowdown);
  },
);

test("measurements under plain MPS would refuse a pair that shares well", () => {
  expect(forecastOf("bert-graph", "bert-train", "mps").slowdown).toBeGreaterThan(mostSlowdown);
});
