// Several best-effort clients take turns on what the high one leaves.
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { service, training } from "./faults.ts";
import { between, eventually, now, serviceP50Us, startMachine } from "./machine.ts";

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
  // On a busy machine one of them may be late with its launches for a while.
  let evenSince = Number.POSITIVE_INFINITY;
  await eventually("both have as much of the GPU for three seconds", async () => {
    const clients = await Promise.all(both.map((load) => machine.bestEffortOf(load)));
    const [first = 0, second = 0] = clients.map(({ gpuShare }) => gpuShare);
    const [least, most] = [Math.min(first, second), Math.max(first, second)];
    evenSince = least > 0.05 && most < 2 * least ? Math.min(evenSince, now()) : Infinity;
    return now() - evenSince > 3e9;
  });
  const end = now();
  for (const load of both) await load.finish();
  const { served } = await high.finish();
  const soloUs = serviceP50Us(between(served, begun, alone));
  expect(serviceP50Us(between(served, together, end))).toBeLessThan(1.6 * soloUs);
});
