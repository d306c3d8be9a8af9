// The agent measures what a training retains beside a service, and the training counts it.
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually, now, perSecond, startMachine } from "../machine.ts";

test("work a second, shared over solo, is the throughput that a training retains where nothing waits", async () => {
  const machine = await startMachine({}, "--policy", "off");
  const training = machine.load("best-effort", ["--arrivals", "closed", "--seconds", "3600"]);
  await training.serving;
  const own = () => machine.bestEffortOf(training);
  const work = async () => {
    const { work: measured } = await own();
    if (!measured) throw new Error("it was not sampled yet");
    return measured;
  };
  await eventually("its solo work counts", async () => (await own()).work?.solo.submissions !== 0);
  const soloFrom = now();
  await pause(15_000);
  const soloTo = now();
  const shape = ["--rate", "120", "--kernel-us", "300", "--seconds", "3600"];
  const service = machine.load("high", ["--graph", ...shape]);
  await service.serving;
  const from = { at: now(), ...(await work()) };
  await pause(15_000);
  const to = { at: now(), ...(await work()), waits: (await own()).keptShare };
  await service.finish();
  const { served } = await training.finish();

  const submissions = to.shared.submissions - from.shared.submissions;
  const perS = submissions / (to.shared.seconds - from.shared.seconds);
  const retained = perS / (to.soloPerS ?? Number.NaN);
  const counted = perSecond(served, from.at, to.at) / perSecond(served, soloFrom, soloTo);
  expect(Math.abs(retained - counted)).toBeLessThan(0.05);
  // Its work waits for nobody, so that the time of waits does not say what it retains.
  expect(to.waits).toBe(1);
  expect(counted).toBeLessThan(0.9);
});
