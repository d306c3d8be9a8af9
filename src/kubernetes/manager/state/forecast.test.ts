import { expect, test } from "vitest";
import { learning, responseGrowth } from "#place";
import type { Predictor } from "#predict";
import { forecasts, learnFrom, pairsBy } from "./forecast.ts";
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
  profile("train", "H100", 10),
  profile("old", "V100", 90),
];
/** Requests retain 0.95 of their speed beside the training, and so take longer. */
const activeBeside = (activeShare: number): number => Math.min(1, activeShare / 0.95);
const H100 = { model: "H100", activeShare: 0.5 };

test("a pair with profiles of the GPU is forecast by the predictor, for the time in which the service is active", () => {
  const known = forecasts(pairsBy(predictor), profiles, learning());
  const of = (service: string, job: string) =>
    known.of(known.profileOf(pod(service)), known.profileOf(pod(job)), H100, 0);
  const active = activeBeside(0.5);
  expect(of("serve", "train")).toEqual({
    retained: expect.closeTo(active * 0.8 + 1 - active),
    slowdown: expect.closeTo(responseGrowth(0.5, 0.95)),
    worth: expect.any(Number),
    // The predictor says the same of all shares.
    ...{ from: "profiles", share: 1 },
    parts: { beside: expect.closeTo(active * 0.8), alone: expect.closeTo(1 - active) },
  });
  // A profile of another GPU says nothing about this one.
  const turns = { retained: 0.5, worth: 0.5, share: 0.5, from: "turns" };
  expect(of("serve", "old")).toEqual(turns);
  expect(of("serve", "none")).toEqual(turns);
});

test("without a predictor, and beside others, the turn bound is divided", () => {
  const known = forecasts(undefined, profiles, learning());
  expect(known.of(known.profileOf(pod("serve")), undefined, H100, 1).retained).toBe(0.25);
});

/** Pairings of serve and train that are predicted as they come, and measured by what they retain beside requests. */
function learner() {
  const learned = learning();
  const known = forecasts(pairsBy(predictor), profiles, learned);
  const [service, job] = [known.profileOf(pod("serve")), known.profileOf(pod("train"))];
  const observe = (uid: string, besideRequests: number, activeShare = 0.5, others = 0) => {
    const predicted = known.of(service, job, { model: "H100", activeShare }, others);
    const active = activeBeside(activeShare);
    const retained = (active * besideRequests + 1 - active) / (others + 1);
    const pairing: Pairing = {
      metadata: { ...metadata("p"), uid },
      spec: {
        ...{ pod: "p", service: "default/s", node: "a", gpu: "GPU-a", share: 0.5 },
        predicted,
      },
      status: { measured: { retained } },
    };
    learnFrom(learned, pairing, service, job);
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
  // 20 observations of a half of what is predicted, and a trust of 5 in the predictor at one of 0.5 squared.
  const active = activeBeside(0.5);
  const weight = 20 * (active * 0.8) ** 2;
  const ratio = (weight * 0.5 + 5 * 0.25) / (weight + 5 * 0.25);
  expect(after).toBeCloseTo(active * 0.8 * ratio + 1 - active);
  expect(after).toBeLessThan(before);
  expect(ofOthers()).toBe(others);
  for (let n = 0; n < 20; n++) observe("uid-0", 0.4);
  expect(forecast()).toBeCloseTo(after);
});

test("what has been learned stays, whatever was corrected when its pairings were predicted", () => {
  const { observe, forecast } = learner();
  const truth = (activeShare: number) =>
    activeBeside(activeShare) * 0.4 + 1 - activeBeside(activeShare);
  for (let n = 0; n < 5000; n++) observe(`uid-${n}`, 0.4, (n % 10) / 10, n % 3);
  for (const activeShare of [0.1, 0.5, 0.9])
    expect(forecast(activeShare)).toBeCloseTo(truth(activeShare), 2);
});
