import { expect, test } from "vitest";
import { exampleScenario, readClusterScenario, schedulers, simulate } from "#cluster";
import { managerScheduler } from "./scheduler.ts";

const scenario = {
  ...exampleScenario,
  gpus: [{ type: "GPU", count: 15, memoryGB: 24 }],
  services: exampleScenario.services.map((service) => ({ ...service, gpus: 5 })),
  jobs: { ...exampleScenario.jobs, count: 60 },
};
const plan = readClusterScenario(JSON.stringify(scenario), "simulated", () => "").plan(1);

test("the manager ends all jobs of a simulated day about as soon as MuxFlow, and slows services by less than 5 %", () => {
  const muxflow = schedulers.find(({ name }) => name === "muxflow");
  if (muxflow === undefined) throw new Error("there is no MuxFlow");
  const published = simulate(plan, muxflow);
  const own = simulate(plan, managerScheduler());
  expect(own.finished).toBe(60);
  expect(own.meanSlowdown).toBeLessThan(1.05);
  expect(own.p99Slowdown).toBeLessThan(1.05);
  expect(own.jctMean).toBeLessThan(1.05 * published.jctMean);
  expect(own.oversold).toBeGreaterThan(published.oversold - 0.05);
});

test("without profiles it matches by the turn bound", () => {
  expect(simulate(plan, managerScheduler({}, new Set())).finished).toBe(60);
});

test("it moves jobs, and none where no gain is enough", () => {
  expect(simulate(plan, managerScheduler({ leastGain: 0.05 })).moves).toBeGreaterThan(0);
  expect(simulate(plan, managerScheduler({ leastGain: 1 })).moves).toBe(0);
  const nobody = managerScheduler({ leastGain: 0.05 }, undefined, new Map());
  expect(simulate(plan, nobody).moves).toBe(0);
});

test("a policy that leaves services alone starts no job", () => {
  const { starts, meanSlowdown } = simulate(plan, managerScheduler({ mostActiveShare: 0 }));
  expect([starts, meanSlowdown]).toEqual([0, 1]);
});
