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

/** Writes that are due in some minutes of samples, one each second. */
function minutes(count: number, measuring: Measuring, from: number, gpus: readonly GpuStatus[]) {
  const due = [];
  for (let s = 0; s <= 60 * count; s++)
    due.push(...measuring.look([claim], gpus, from + 1000 * s).values());
  return due;
}
const written = { mergePlain: async () => ({}) } as never;

test("the mean of a minute is due, and afterwards that of ten if it is another one", async () => {
  const measuring = new Measuring();
  const [mean, ...more] = minutes(1, measuring, 0, gpu(0.7));
  expect([mean, more]).toEqual([{ retained: 0.7, slowdown: 1.02 }, []]);
  if (mean) await measuring.write(written, claim, mean, 0);
  expect(minutes(10, measuring, 61_000, gpu(0.73))).toEqual([]);
  expect(minutes(9, measuring, 662_000, gpu(0.6))).toEqual([]);
  // One sample of the minutes before is in it.
  expect(minutes(1, measuring, 1_203_000, gpu(0.6))).toEqual([
    { retained: expect.closeTo(0.6, 2), slowdown: 1.02 },
  ]);
});

test("when a pod comes or goes, the next mean is one of a minute, and is due though it is the same", async () => {
  const measuring = new Measuring();
  const other = { ...claim, uid: "2", name: "cotenant-2", podUid: "34" };
  const elsewhere = { ...other, gpu: "GPU-2" };
  const [mean] = minutes(1, measuring, 0, gpu(0.7));
  if (mean) await measuring.write(written, claim, mean, 0);
  measuring.look([claim, elsewhere], gpu(0.7), 61_000);
  expect(minutes(1, measuring, 62_000, gpu(0.7))).toEqual([]);
  measuring.look([claim, other], gpu(0.7), 123_000);
  expect(minutes(1, measuring, 124_000, gpu(0.7))).toEqual([mean]);
});

test("what was not written stays due", () => {
  const measuring = new Measuring();
  minutes(1, measuring, 0, gpu(0.7));
  expect(minutes(1, measuring, 61_000, gpu(0.7))).toHaveLength(1);
});

test.each<readonly [string, readonly GpuStatus[]]>([
  ["there is no window yet", gpu(undefined)],
  ["no service is there", gpu(0.7, { high: [] })],
  ["best-effort work is held", gpu(0.7, { heldBecause: "no service has the GPU" })],
  ["the pod has no process", gpu(0.7, { bestEffort: [] })],
  ["the GPU is gone", []],
])("nothing is measured while %s", (_, gpus) => {
  expect(minutes(1, new Measuring(), 0, gpus)).toEqual([]);
});
