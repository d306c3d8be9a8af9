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
    parts: { beside: expect.closeTo(0.5 * 0.8), alone: 0.5 },
  });
  // A profile of another GPU says nothing about this one.
  expect(of("serve", "old")).toEqual({ retained: 0.5, from: "turns" });
  expect(of("serve", "none")).toEqual({ retained: 0.5, from: "turns" });
});

test("without a predictor, and beside others, the turn bound is divided", () => {
  const known = forecasts(undefined, profiles, learning());
  expect(known.of(known.profileOf(pod("serve")), undefined, H100, 1).retained).toBe(0.25);
});

/** Pairings of serve and train that are predicted as they come, and measured by what they retain beside requests. */
function learner() {
  const learned = learning();
  const known = forecasts(predictor, profiles, learned);
  const [service, job] = [known.profileOf(pod("serve")), known.profileOf(pod("train"))];
  const observe = (uid: string, besideRequests: number, activeShare = 0.5, others = 0) => {
    const predicted = known.of(service, job, { model: "H100", activeShare }, others);
    const retained = (activeShare * besideRequests + 1 - activeShare) / (others + 1);
    const pairing: Pairing = {
      metadata: { ...metadata("p"), uid },
      spec: {
        ...{ pod: "p", service: "default/s", node: "a", gpu: "GPU-a", share: 0.5 },
        predicted,
      },
      status: { measured: { retained } },
    };
    learned.observe(pairing, service, job);
  };
  const forecast = (activeShare = 0.5) =>
    known.of(service, job, { model: "H100", activeShare }, 0).retained;
  const ofOthers = () => known.of(job, service, H100, 0).retained;
  return { observe, forecast, ofOthers };
}

test("what pairings have measured moves the forecast of equal pairs, and no others", () => {
  const { observe, forecast, ofOthers } = learner();
  const [before, others] = [forecast(), ofOthers()];
  // Predicted are 0.8 beside requests.
  for (let n = 0; n < 20; n++) observe(`uid-${n}`, 0.4);
  const after = forecast();
  // 20 observations at a weight of 0.4 squared, and a trust of 5 in the predictor at one of 0.5 squared.
  const ratio = (20 * 0.4 * 0.2 + 5 * 0.25) / (20 * 0.16 + 5 * 0.25);
  expect(after).toBeCloseTo(0.5 * 0.8 * ratio + 0.5);
  expect(after).toBeLessThan(before);
  expect(ofOthers()).toBe(others);
  for (let n = 0; n < 20; n++) observe("uid-0", 0.4);
  expect(forecast()).toBeCloseTo(after);
});

test("what has been learned stays, whatever was corrected when its pairings were predicted", () => {
  const { observe, forecast } = learner();
  const truth = (activeShare: number) => activeShare * 0.4 + 1 - activeShare;
  for (let n = 0; n < 5000; n++) observe(`uid-${n}`, 0.4, (n % 10) / 10, n % 3);
  for (const activeShare of [0.1, 0.5, 0.9])
    expect(forecast(activeShare)).toBeCloseTo(truth(activeShare), 2);
});
