// A service that uses two GPUs of the machine, beside a training on each.
import { expect, test } from "vitest";
import { eventually } from "../machine.ts";
import { startTwoDevices } from "./two-devices.ts";

test("a service that is active on one of its GPUs holds best-effort work on all of them", async () => {
  const { trainings, service, request, active, paused } = await startTwoDevices("two_gpus.py", [
    "ready",
  ]);
  for (const [first, second] of [
    [0, 1],
    [1, 0],
  ] as const) {
    await request(first, "begins");
    expect(active()).toEqual([true, true]);
    await eventually("both GPUs' trainings are paused", () => paused().every(Boolean));
    await request(second, "begins");
    expect(active()).toEqual([true, true]);
    await request(first, "ends");
    expect(active()).toEqual([true, true]);
    await request(second, "ends");
    expect(active()).toEqual([false, false]);
    await eventually("both go on", () => !paused().some(Boolean));
  }
  expect((await service.ended).status).toBe(0);
  for (const training of trainings) expect((await training.finish()).result.intact).toBe(true);
});
