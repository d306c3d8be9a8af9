import { expect, test } from "vitest";
import type { GpuStatus } from "#agent";
import { slowdownQuantile } from "../labels/slowdown.ts";
import { Recovery } from "./recovered.ts";

const claim = {
  ...{ namespace: "research", uid: "1", name: "cotenant-1", podUid: "33", podName: "train" },
  ...{ gpu: "GPU-1", memoryBytes: 5, devices: [] },
};
const gpu = (more: object = {}) =>
  [
    {
      ...{ uuid: "GPU-1", high: [{ slowdown: 0.03 }] },
      bestEffort: [{ identity: { pod: "33" }, keptShare: 0.5 }],
      ...more,
    },
  ] as unknown as readonly GpuStatus[];

test("what a pod retains counts while it runs beside a service, and stays until it was written", () => {
  const recovery = new Recovery();
  const minute = (from: number, gpus: readonly GpuStatus[], claims = [claim]) => {
    for (let s = from; s <= from + 60; s++)
      recovery.sample(claims, gpus, () => "service", 1000 * s);
    return recovery.of("GPU-1");
  };
  const pod = { podUid: "33", namespace: "research" };
  const first = { recovered: [{ ...pod, gpuSeconds: 30 }], slowdownSeconds: { "1.05": 60 } };
  expect(minute(0, gpu())).toEqual(first);
  expect(minute(60, gpu({ heldBecause: "the GPU is overlimit" }))).toEqual(first);
  expect(minute(120, gpu(), []).recovered).toEqual(first.recovered);
  recovery.written();
  expect(recovery.of("GPU-1").recovered).toEqual([]);
});

test("a quantile of slowdown is the step that is not exceeded", () => {
  const seconds = { "1": 50, "1.05": 48, "2": 2 };
  expect([0.5, 0.51, 0.98, 0.99].map((part) => slowdownQuantile(seconds, part))).toEqual([
    1, 1.05, 1.05, 2,
  ]);
  expect(slowdownQuantile({}, 0.5)).toBeUndefined();
});
