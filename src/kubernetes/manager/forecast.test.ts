import { expect, test } from "vitest";
import type { Predictor } from "#predict";
import { forecasts, learning } from "./forecast.ts";
import type { Pairing, Pod, WorkloadProfile } from "./objects.ts";

const metadata = (name: string, annotations: Record<string, string> = {}) => ({
  ...{ name, namespace: "default", uid: name, resourceVersion: "1", annotations },
  creationTimestamp: "2026-01-01T00:00:00Z",
});

const profile = (name: string, gpu: string, smBusy: number): WorkloadProfile => ({
  metadata: metadata(name),
  spec: { gpu, metrics: { smBusy, unknownMetric: 1 } },
});

const pod = (profiled: string): Pod => ({
  metadata: metadata(`pod-of-${profiled}`, { "cotenant.io/profile": profiled }),
  spec: {},
  status: {},
});

/** Busier neighbours cost more. */
const predictor: Predictor = {
  predict: (_, [other]) => ({
    retained: 1 - (other?.smBusy ?? 0) / 200,
    ...{ uncertainty: 0, low: 0, high: 1, familiar: true },
  }),
};

const profiles = [
  profile("serve", "H100", 40),
  profile("train", "H100", 90),
  profile("old", "V100", 90),
];
const H100 = { model: "H100", activeShare: 0.5 };

test("a pair with profiles of the GPU is forecast by the predictor, for the time in which the service is active", () => {
  const known = forecasts(predictor, profiles, learning());
  const of = (service: string, job: string) =>
    known.of(known.profileOf(pod(service)), known.profileOf(pod(job)), H100, 0);
  expect(of("serve", "train")).toEqual({
    retained: expect.closeTo(0.5 * 0.8 + 0.5),
    slowdown: 1 / 0.55,
    from: "profiles",
  });
  // A profile of another GPU says nothing about this one.
  expect(of("serve", "old")).toEqual({ retained: 0.5, from: "turns" });
  expect(of("serve", "none")).toEqual({ retained: 0.5, from: "turns" });
});

test("without a predictor, and beside others, the turn bound is divided", () => {
  const known = forecasts(undefined, profiles, learning());
  expect(known.of(known.profileOf(pod("serve")), undefined, H100, 1).retained).toBe(0.25);
});

test("what pairings have measured moves the forecast of equal pairs, and no others", () => {
  const learned = learning();
  const known = forecasts(predictor, profiles, learned);
  const [service, job] = [known.profileOf(pod("serve")), known.profileOf(pod("train"))];
  const before = known.of(service, job, H100, 0).retained;
  const pairing = (uid: string): Pairing => ({
    metadata: { ...metadata("p"), uid },
    spec: {
      ...{ pod: "p", service: "default/s", node: "a", gpu: "GPU-a", share: 0.5 },
      predicted: { retained: 0.8, from: "profiles" },
    },
    status: { measured: { retained: 0.4 } },
  });
  for (let n = 0; n < 20; n++) learned.observe(pairing(`uid-${n}`), service, job);
  const after = known.of(service, job, H100, 0).retained;
  // 20 observations of one half and a trust of 5 in the forecast: 0.6 of it.
  expect(after).toBeCloseTo(0.5 * 0.8 * 0.6 + 0.5);
  expect(after).toBeLessThan(before);
  for (let n = 0; n < 20; n++) learned.observe(pairing("uid-0"), service, job);
  expect(known.of(service, job, H100, 0).retained).toBeCloseTo(after);
  expect(known.of(job, service, H100, 0).retained).not.toBeCloseTo(after);
});
