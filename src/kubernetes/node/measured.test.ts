import { expect, test } from "vitest";
import type { GpuStatus } from "#agent";
import { Measuring } from "./measured.ts";

const claim = {
  ...{ namespace: "default", uid: "1", name: "cotenant-1", podUid: "33", podName: "train" },
  ...{ gpu: "GPU-1", memoryBytes: 5, devices: [] },
};
const gpu = (retained: number | undefined, more: object = {}) =>
  [
    {
      uuid: "GPU-1",
      high: [{ slowdown: 0.02 }],
      bestEffort: [{ identity: { pod: "33" }, keptShare: retained }],
      ...more,
    },
  ] as unknown as readonly GpuStatus[];

/** Writes that are due in a minute of samples, one each second. */
function minute(measuring: Measuring, from: number, gpus: readonly GpuStatus[]) {
  const due = [];
  for (let s = 0; s <= 60; s++)
    due.push(...measuring.look([claim], gpus, from + 1000 * s).values());
  return due;
}
const written = { mergePlain: async () => ({}) } as never;

test("the mean of a minute is due, and afterwards only what has changed", async () => {
  const measuring = new Measuring();
  const [mean, ...more] = minute(measuring, 0, gpu(0.7));
  expect([mean, more]).toEqual([{ retained: 0.7, slowdown: 1.02 }, []]);
  if (mean) await measuring.write(written, claim, mean, 0);
  expect(minute(measuring, 61_000, gpu(0.705))).toEqual([]);
  // One look of the minute before is in it.
  expect(minute(measuring, 122_000, gpu(0.6))).toEqual([
    { retained: expect.closeTo(0.6, 2), slowdown: 1.02 },
  ]);
});

test("what was not written stays due", () => {
  const measuring = new Measuring();
  minute(measuring, 0, gpu(0.7));
  expect(minute(measuring, 61_000, gpu(0.7))).toHaveLength(1);
});

test.each<readonly [string, readonly GpuStatus[]]>([
  ["there is no window yet", gpu(undefined)],
  ["no service is there", gpu(0.7, { high: [] })],
  ["best-effort work is held", gpu(0.7, { heldBecause: "no service has the GPU" })],
  ["the pod has no process", gpu(0.7, { bestEffort: [] })],
  ["the GPU is gone", []],
])("nothing is measured while %s", (_, gpus) => {
  expect(minute(new Measuring(), 0, gpus)).toEqual([]);
});
