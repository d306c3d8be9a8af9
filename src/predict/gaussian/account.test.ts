import { expect, test } from "vitest";
import type { Features } from "../data/metrics.ts";
import { metricNames } from "../data/metrics.ts";
import { learners } from "../learners.ts";
import { accounted, isAccountable } from "./account.ts";

/** 811 kernels in 3.3 ms, one after the other, like a BERT in a CUDA graph. */
const service: Features = { kernelsPerMs: 247, blockWaitUs: 1.8, kernelShare: 1, smsFilled: 0.62 };
const training = (blockWaitUs: number): Features => ({
  kernelsPerMs: 9,
  blockWaitUs,
  kernelShare: 1,
  smsFilled: 0.95,
});

test("a request pays for each of its kernels with a part of a neighbour's block", () => {
  // 0.5 x 63 us for each of 247 kernels a ms, and the SMs that the neighbour fills.
  const slowdown = 1 / accounted(service, training(63), 0.5);
  expect(slowdown - 1 - (0.5 * 63 * 247) / 1000).toBeGreaterThan(0);
  expect(slowdown - 1 - (0.5 * 63 * 247) / 1000).toBeLessThan(0.6);
  expect(accounted(service, training(20), 0.5)).toBeGreaterThan(
    2 * accounted(service, training(63), 0.5),
  );
});

test("a request of few long kernels hardly waits, and one that launches slowly hides the wait", () => {
  const few = { ...service, kernelsPerMs: 2 };
  expect(accounted(few, training(63), 0.5)).toBeGreaterThan(0.5);
  const launching = { ...service, kernelsPerMs: 30, kernelShare: 0.3 };
  expect(accounted(launching, training(20), 0.5)).toBeGreaterThan(0.85);
});

test("the training loses the SM time that the slowed request uses", () => {
  const beside = (wait: number) => accounted(training(wait), service, 0.5);
  expect(beside(63)).toBeGreaterThan(0.9);
  expect(beside(1)).toBeLessThan(beside(63));
});

test("retained throughput is at most 1, and the metrics decide whether there is an account", () => {
  const idle = { kernelsPerMs: 0.1, blockWaitUs: 0.1, kernelShare: 0.05, smsFilled: 0.1 };
  expect(accounted(idle, idle, 1)).toBe(1);
  expect(isAccountable(metricNames)).toBe(true);
  expect(isAccountable(["threads", "kernelUs", "kernelShare", "smsFilled"])).toBe(false);
});

test("with four pairs, our learner predicts what the account says", () => {
  const metrics = ["kernelsPerMs", "blockWaitUs", "kernelShare", "smsFilled"] as const;
  const services = [service, { ...service, kernelsPerMs: 150 }];
  const trainings = [training(63), training(20)];
  const rows = services.flatMap((one) =>
    trainings.map((other) => ({
      sides: [
        { features: one, retained: accounted(one, other, 0.5), smShare: 1 },
        { features: other, retained: accounted(other, one, 0.5), smShare: 1 },
      ],
    })),
  );
  const { train, open } = learners.ours;
  const predictor = open(train(rows, metrics), metrics);
  const [between, calm] = [training(40), { ...service, kernelsPerMs: 60 }];
  const { retained, low, high } = predictor.predict(calm, [between]);
  expect(retained).toBeCloseTo(accounted(calm, between, 0.5), 1);
  expect(low).toBeLessThan(retained);
  expect(high).toBeGreaterThan(retained);
});
