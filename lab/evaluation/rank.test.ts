import { expect, test } from "vitest";
import { learners, profileFeatures } from "#predict";
import type { WorkloadProfile } from "#profile";
import {
  exampleMetrics,
  examplePairs,
  exampleWorkloads,
  truth,
} from "../../test/predict/example.ts";
import { autoregressiveFeatures } from "./autoregressive.ts";
import { rank } from "./rank.ts";

const workloads = exampleWorkloads(10);
const named = workloads.map((features, i) => ({ name: `w${i}`, features }));
const { ours } = learners;
const predictor = ours.open(ours.train(examplePairs(workloads), exampleMetrics), exampleMetrics);

test("the best candidate comes first, and each client's share of it is reported", () => {
  const [target = { name: "", features: {} }, ...candidates] = named;
  const ranked = rank(predictor, target, candidates, "retained");
  const sumOf = (name: string) => {
    const features = named.find((one) => one.name === name)?.features ?? {};
    return truth(target.features, [features]) + truth(features, [target.features]);
  };
  const best = Math.max(...candidates.map(({ name }) => sumOf(name)));
  expect(sumOf(ranked[0]?.candidate ?? "")).toBeGreaterThan(0.95 * best);
  expect(ranked.map(({ score }) => score)).toEqual(
    ranked.map(({ score }) => score).toSorted((a, b) => b - a),
  );
  expect(ranked[0]?.clients.map(({ name }) => name)).toEqual(["w0", ranked[0]?.candidate]);
});

test("beside more neighbours every client retains less", () => {
  const [target = { name: "", features: {} }, there = target, ...candidates] = named;
  const alone = rank(predictor, target, candidates, "throughput");
  const among = rank(predictor, target, candidates, "throughput", [there]);
  expect(among).toHaveLength(alone.length);
  for (const { candidate, clients } of among) {
    const before = alone.find((one) => one.candidate === candidate)?.clients[0]?.retained ?? 0;
    expect(clients).toHaveLength(3);
    expect(clients[0]?.retained).toBeLessThan(before);
  }
});

test.each(["ours", "mixed"] as const)(
  "a model by %s of unrestricted clients is unfamiliar with SM shares",
  (name) => {
    const { train, open } = learners[name];
    const rows = examplePairs(workloads);
    const state = train(rows, exampleMetrics, { seed: 0 });
    const unshared = open(state, exampleMetrics);
    const [a = {}, b = {}] = workloads;
    expect(unshared.predict(a, [b], { target: 1, others: [1] }).familiar).toBe(true);
    expect(unshared.predict(a, [b], { target: 0.4, others: [0.6] }).familiar).toBe(false);
    expect(() => unshared.predict(a, [b], { target: 0, others: [1] })).toThrow(
      "An SM share of 0 is not above 0 and at most 1.",
    );
  },
);

test("without candidates the ranking is empty", () => {
  expect(() => rank(predictor, named[0] ?? { name: "", features: {} }, [], "retained")).toThrow(
    "There is no candidate to run beside w0.",
  );
});

const kernel = {
  name: "k",
  grid: [10, 1, 1],
  block: [100, 1, 1],
  durationNs: { p50: 1000, p95: 1000 },
  smsNeeded: 66,
  class: "unknown",
} as const;
const profile: WorkloadProfile = {
  version: 1,
  name: "job",
  kind: "inference",
  gpu: { name: "NVIDIA H200", computeCapability: "9.0", sms: 132 },
  source: "test",
  soloNs: 8000,
  kernels: [kernel, { ...kernel, durationNs: { p50: 3000, p95: 3000 }, smsNeeded: 400 }],
  sequence: [{ kernel: 0 }, { copy: "in", bytes: 4 }, { kernel: 1 }],
};

test("a recording without counters has the metrics of its launches", () => {
  expect(profileFeatures(profile)).toEqual({
    threads: 1000,
    soloThroughput: 125_000,
    kernelUs: 2.5,
    smsFilled: (0.5 + 3) / 4,
    kernelShare: 0.5,
    kernelsPerMs: expect.closeTo(250),
    // A block of the second kernel takes one of its 400 / 132 waves.
    blockWaitUs: expect.closeTo((0.5 * 1 + 3 * (3 / (400 / 132))) / 2 / 8),
  });
});

test("counters are taken from the kernels that have them", () => {
  const counted = { ...profile, smBusy: 0.4, kernels: [{ ...kernel, sm: 0.8 }, kernel] };
  expect(profileFeatures(counted)).toMatchObject({ smBusy: 40, smThroughput: 80 });
});

test("an autoregressive job has the kernels of two phases, the memory of the decode, and answers a second", () => {
  const token = { ...profile, soloNs: 1000, memoryBytes: 7e9, sequence: [{ kernel: 0 }] };
  const features = autoregressiveFeatures({ ...profile, memoryBytes: 3e9 }, token, 100);
  expect(features).toEqual({
    threads: 1000,
    memoryGB: 7,
    soloThroughput: 1e9 / 108_000,
    kernelUs: (1 + 9 + 1) / 5,
    smsFilled: (0.5 + 3 + 0.5) / 5,
    kernelShare: 5 / 9,
    kernelsPerMs: expect.closeTo(1000 / 3),
    blockWaitUs: expect.closeTo((0.5 * 1 + 3 * (3 / (400 / 132)) + 0.5 * 1) / 2 / 9),
  });
});
