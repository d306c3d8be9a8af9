// The policy `slo` with real clients: what it allows best-effort work follows from the high one's objective.
import { expect, test } from "vitest";
import type { Settings, View } from "#protocol";
import { training } from "./faults.ts";
import { eventually, type Machine, startMachine } from "./machine.ts";

const service =
  "--arrivals uniform --rate 150 --kernels 5 --kernel-us 200 --warmup 0.1 --seconds 3600".split(
    " ",
  );

const objectiveOf = async (machine: Machine) =>
  (await machine.status()).gpus.flatMap(({ high }) => high)[0]?.objective;

async function servedBeside(machine: Machine, p99Us: number) {
  const high = machine.load("high", service, { COTENANT_SLO_P99_US: String(p99Us) });
  await high.serving;
  await machine.load("best-effort", training).serving;
}

const settingsOf = (machine: Machine): View<typeof Settings> => machine.memory().settings;

test("an objective with room is climbed to", async () => {
  const machine = await startMachine({}, "--policy", "slo");
  await servedBeside(machine, 10_000_000);
  await eventually("level 2", async () => ((await objectiveOf(machine))?.level ?? 0) >= 2);
  expect(settingsOf(machine)).toMatchObject({ protect: 1, resumeDelayUs: 0 });
  await eventually("met", async () => (await objectiveOf(machine))?.state === "met");
});

test("an objective that nothing can meet is said to be impossible, and gets what strict gives", async () => {
  const machine = await startMachine({}, "--policy", "slo");
  await servedBeside(machine, 10);
  await eventually("impossible", async () => (await objectiveOf(machine))?.state === "impossible");
  expect(await objectiveOf(machine)).toMatchObject({ level: 0 });
  expect(settingsOf(machine)).toMatchObject({ protect: 1, resumeDelayUs: 150, whenActive: 0 });
});
