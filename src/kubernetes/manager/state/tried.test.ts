import fc from "fast-check";
import { expect, test } from "vitest";
import { learning } from "#place";
import { forecasts } from "./forecast.ts";
import type { Pod } from "./objects.ts";
import { workloadOf } from "./pods.ts";
import type { Trials } from "./snapshot.ts";
import { ratios } from "./tried.ts";

const known = forecasts(undefined, [], learning());
const trial = (retained: number) => ({
  ...{ retained, at: 0 },
  conditions: {
    ...{ service: undefined, job: undefined, others: 0 },
    gpu: { model: "none", activeShare: 0.5 },
  },
});
const trialsOf = (retained: readonly number[]): Trials =>
  new Map(retained.map((one, i) => [`service-${i}`, trial(one)]));

test("a workload that was never measured is forecast as it is", () => {
  expect(ratios(new Map(), known).of("any")).toBe(1);
});

test("beside a service that was tried it is what was measured, and beside others the closer to it the more were tried", () => {
  // Half of the turn bound of 0.5.
  const elsewhere = (count: number) =>
    ratios(trialsOf(Array.from({ length: count }, () => 0.25)), known).of("another");
  expect(ratios(trialsOf([0.25]), known).of("service-0")).toBe(0.5);
  expect(elsewhere(1)).toBeCloseTo(0.5 ** (1 / 2));
  expect(elsewhere(3)).toBeCloseTo(0.5 ** (3 / 4));
});

test("what is expected elsewhere lies between the forecast and what was measured", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 5 }),
      (retained) => {
        const { of: ratio, most } = ratios(trialsOf(retained), known);
        const tried = retained.map((_, i) => ratio(`service-${i}`));
        expect(ratio("another")).toBeGreaterThanOrEqual(Math.min(1, ...tried) - 1e-9);
        expect(ratio("another")).toBeLessThanOrEqual(Math.max(1, ...tried) + 1e-9);
        expect(most).toBe(Math.max(ratio("another"), ...tried));
      },
    ),
  );
});

test("pods are of one workload by their programs and not by who made them", () => {
  const pod = (controller: string, args: readonly string[], namespace = "default"): Pod => ({
    metadata: {
      ...{ name: "p", namespace, uid: controller, resourceVersion: "1", creationTimestamp: "" },
      ownerReferences: [{ uid: controller, controller: true }],
    },
    ...{ spec: { containers: [{ image: "train", args }] }, status: {} },
  });
  const one = workloadOf(pod("a", ["--large"]));
  expect(workloadOf(pod("b", ["--large"]))).toBe(one);
  expect(workloadOf(pod("a", ["--small"]))).not.toBe(one);
  expect(workloadOf(pod("a", ["--large"], "other"))).not.toBe(one);
});
