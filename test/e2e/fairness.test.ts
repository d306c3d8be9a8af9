// Several best-effort clients take turns on what the high one leaves.
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { service, training } from "./faults.ts";
import { between, now, perSecond, serviceP50Us, startMachine } from "./machine.ts";

test("two best-effort clients share evenly, and the high one's latency stays near what it is alone", async () => {
  const machine = await startMachine();
  const high = machine.load("high", service);
  await high.serving;
  const begun = now();
  await pause(1500);
  const alone = now();
  const both = [machine.load("best-effort", training), machine.load("best-effort", training)];
  await Promise.all(both.map(({ serving }) => serving));
  const together = now();
  await pause(3000);
  const end = now();

  // In GPU work: what one found a kernel to need while the other ran may be another number.
  const [first = 0, second = 0] = await Promise.all(
    both.map(async (load) => {
      const { result, served } = await load.finish();
      return perSecond(served, together, end) * (result.calibration.compute?.iterations ?? 0);
    }),
  );
  expect(first / second).toBeGreaterThan(0.5);
  expect(first / second).toBeLessThan(2);
  const { served } = await high.finish();
  const soloUs = serviceP50Us(between(served, begun, alone));
  expect(serviceP50Us(between(served, together, end))).toBeLessThan(1.6 * soloUs);
});
