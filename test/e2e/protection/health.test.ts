// SysMonitor with real clients: the software GPU's sensors say what a test writes.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventually, type Machine, startMachine } from "../machine.ts";
import { pretend } from "./pretend.ts";

const stateOf = async (machine: Machine) => (await machine.status()).gpus[0]?.health?.state;

const becomes = (machine: Machine, wanted: string) =>
  eventually(wanted, async () => (await stateOf(machine)) === wanted);

const cool = { temperatureC: 60, slowdownC: 90 };
const closed = ["--arrivals", "closed", "--seconds", "3600"];

test("over its limit a GPU takes no best-effort client and holds those that it has, until it has cooled down", async () => {
  const machine = await startMachine(
    { TOLD: "" },
    ...["--health", "backOff=0.5", "--on-health"],
    'echo "$COTENANT_HEALTH_FROM $COTENANT_HEALTH_TO $COTENANT_HEALTH_CAUSE" >> "$COTENANT_DIR/told"',
  );
  const train = machine.load("best-effort", closed);
  await train.serving;
  pretend(machine, cool);
  await becomes(machine, "healthy");
  const finished = async () => (await machine.bestEffortOf(train)).finishedSeconds;

  pretend(machine, { ...cool, temperatureC: 97 });
  await becomes(machine, "overlimit");
  expect(machine.memory().settings.paused).toBe(1);
  const late = machine.load("best-effort", closed);
  await late.said("until it is healthy. It is overlimit: GPU temperature");
  expect(await machine.slotOf(late)).toBe(undefined);
  const service = machine.load("high", ["--rate", "20", "--seconds", "3600"]);
  await service.serving;
  const { stdout } = await machine.cotenant(["status"]);
  expect(stdout.replace(/\s+/g, " ")).toContain("best-effort work is paused");
  const metrics = (await machine.status()).gpus[0]?.health;
  expect(metrics).toMatchObject({ entries: 1, readings: { temperature: 7 } });

  pretend(machine, cool);
  await becomes(machine, "healthy");
  await eventually("the rules let it run", () => machine.memory().settings.paused === 0);
  const before = await finished();
  await eventually("the training goes on", async () => (await finished()) > before + 0.2);
  await late.serving;
  const told = `${machine.directory}/told`;
  await eventually("the operator's command ran", () => {
    const lines = existsSync(told) ? readFileSync(told, "utf8").split("\n") : [];
    return lines.some((line) => line.startsWith("healthy overlimit GPU temperature"));
  });
  const { stdout: events } = await machine.cotenant(["events", "--json"]);
  const steps = events
    .split("\n")
    .filter((line) => line.includes('"event":"health"'))
    .map((line) => JSON.parse(line))
    .map(({ from, to }) => `${from} ${to}`);
  expect(steps).toEqual([
    "init healthy",
    "healthy overlimit",
    "overlimit unhealthy",
    "unhealthy healthy",
  ]);
});

test("an XID error that needs a reset disables the GPU, and a new agent judges it anew beside the same clients", async () => {
  const machine = await startMachine();
  const train = machine.load("best-effort", closed);
  await train.serving;
  await eventually("it has attached", async () => (await machine.slotOf(train)) !== undefined);
  pretend(machine, { xids: [79] });
  await becomes(machine, "disabled");
  expect(machine.memory().settings.paused).toBe(1);
  pretend(machine, {});
  await machine.cotenant(["down"]);
  await machine.up();
  await becomes(machine, "healthy");
  await eventually("it is back", async () => (await machine.slotOf(train))?.connected === true);
  const before = (await machine.bestEffortOf(train)).finishedSeconds;
  await eventually(
    "it goes on",
    async () => (await machine.bestEffortOf(train)).finishedSeconds > before,
  );
});
