// The policy muxflow under an agent: its rules follow what the sensors say, here as the test writes it.
import { expect, test } from "vitest";
import { submission, whenActive } from "#protocol";
import { eventually, startMachine } from "../machine.ts";
import { pretend } from "./pretend.ts";

test("launches follow the sensors and the forecast, and without sensors best-effort work is held as under strict", async () => {
  const machine = await startMachine({}, "--policy", "muxflow", "--mode", "mps");
  const service = machine.load("high", ["--rate", "20", "--seconds", "3600"]);
  await service.serving;
  const train = machine.load("best-effort", ["--arrivals", "closed", "--seconds", "3600"]);
  await train.serving;
  const rules = () => machine.memory().settings;
  expect(rules().submission).toBe(submission.deep);

  const clocks = { smClockMHz: 1782, mostSmClockMHz: 1980 };
  pretend(machine, { ...clocks, smActivity: 0.3 });
  await eventually("a GPU with room: no delay", () => rules().launchEveryNs === 1000);
  expect(rules()).toMatchObject({
    submission: submission.launch,
    whenActive: whenActive.allowShort,
  });
  // The share may change between a look at the rules and one at the status.
  await eventually("the limit is the forecast's complement", async () => {
    const { smShare, served } = (await machine.status()).gpus[0] ?? {};
    if (!smShare || !served) return false;
    return rules().smLimit === Math.floor(smShare.share * served.smCount + 1e-6) + 1;
  });

  pretend(machine, { ...clocks, smActivity: 1 });
  await eventually("a full GPU: the longest delay", () => rules().launchEveryNs === 10_000_000);

  pretend(machine, { ...clocks, smActivity: null });
  await eventually("no sensor: strict", () => rules().submission === submission.deep);
  expect(rules().whenActive).toBe(whenActive.wait);
});
