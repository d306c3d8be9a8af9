import { expect, test } from "vitest";
import type { NodeGpu } from "./gpus.ts";
import { Steady } from "./steady.ts";

const GIB = 2 ** 30;
const gpu = (activeShare: number, gib: number, podUid = "service"): NodeGpu => ({
  ...{ uuid: "GPU-1", model: "", healthy: true, because: undefined, served: true },
  ...{ starting: false, slots: 2, serviceBytes: 0, taints: [], hold: undefined, older: 0 },
  ...{ activeShare, memoryBytes: gib * GIB, podUid },
});

/** Takes samples for some seconds, and returns the load and memory that are published then. */
function after(steady: Steady, from: number, seconds: number, one: (s: number) => NodeGpu) {
  let last: NodeGpu | undefined;
  for (let s = from; s < from + seconds; s++) [last] = steady.of([one(s)], 1000 * s);
  return [last?.activeShare, (last?.memoryBytes ?? 0) / GIB];
}

test("a load counts that is elsewhere for a while, and none that only wanders", () => {
  const steady = new Steady();
  after(steady, 0, 1, () => gpu(0.3, 10));
  expect(after(steady, 1, 300, (s) => gpu(s % 2 === 0 ? 0.2 : 0.45, 10))).toEqual([0.3, 10]);
  expect(after(steady, 301, 5, () => gpu(0.8, 10))).toEqual([0.3, 10]);
  expect(after(steady, 306, 200, () => gpu(0.8, 10))[0]).toBeGreaterThanOrEqual(0.7);
});

test("less memory counts at once, more of it in ten minutes, and another service's at once", () => {
  const steady = new Steady();
  expect(after(steady, 0, 10, (s) => gpu(0.3, s === 5 ? 8 : 10))).toEqual([0.3, 8]);
  expect(after(steady, 10, 580, () => gpu(0.3, 10))).toEqual([0.3, 8]);
  // The low value was within the first ten minutes.
  expect(after(steady, 590, 30, () => gpu(0.3, 10))).toEqual([0.3, 8]);
  expect(after(steady, 620, 590, () => gpu(0.3, 10))).toEqual([0.3, 10]);
  expect(after(steady, 1210, 1, () => gpu(0.7, 20, "next"))).toEqual([0.7, 20]);
});
