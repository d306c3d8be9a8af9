// Processes that circumvent the gate are seen and reported: those without a slot, and best-effort clients that ignore
// the pause flag.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pathsIn } from "#agent";
import { busyService, service, training } from "../faults.ts";
import { eventually, type Machine, now, startMachine, ungated } from "../machine.ts";

const logOf = (machine: Machine) => readFileSync(pathsIn(machine.directory).log, "utf8");

test("a program that comes to the GPU without a slot is logged, and the operator's command gets it", async () => {
  const env = "env | grep ^COTENANT_STRANGER_ >";
  const machine = await startMachine(
    {},
    "--on-untracked",
    `${env} "$COTENANT_DIR/it" && mv "$COTENANT_DIR/it" "$COTENANT_DIR/$COTENANT_STRANGER_PID.stranger"; exit 7`,
  );
  const client = machine.load("best-effort", training);
  await client.serving;
  const stranger = machine.load("best-effort", training, { COTENANT_OFF: "1" });
  const file = join(machine.directory, `${stranger.pid}.stranger`);
  await eventually("the command has run", () => existsSync(file));
  const uuid = (await machine.status()).gpus[0]?.uuid;
  expect(readFileSync(file, "utf8").trim().split("\n").sort()).toEqual([
    "COTENANT_STRANGER_CONTAINER=",
    `COTENANT_STRANGER_GPU=${uuid}`,
    `COTENANT_STRANGER_PID=${stranger.pid}`,
    "COTENANT_STRANGER_POD=",
    `COTENANT_STRANGER_UID=${process.getuid?.()}`,
  ]);
  await eventually("that it failed is logged", () =>
    logOf(machine).includes(`stranger command failed pid=${stranger.pid}`),
  );
  const told = logOf(machine)
    .split("\n")
    .filter((line) => / stranger pid=/.test(line));
  expect(told).toHaveLength(1);
  expect(told[0]).toContain(`of="uid ${process.getuid?.()}`);
});

/** Busy a third of the time. */
const thirdBusy = service.map((word) => (word === "20" ? "32" : word));

async function besideService(shape: readonly string[]) {
  const machine = await startMachine({}, "--system");
  const high = machine.load("high", shape);
  await high.serving;
  const bestEffort = machine.load("best-effort", training);
  await bestEffort.serving;
  return { machine, bestEffort };
}

test.each([
  ["is busy a third of the time", thirdBusy],
  ["is never idle", busyService],
])("a training that heeds its hold is not reported beside a service that %s", async (_, shape) => {
  const { machine, bestEffort } = await besideService(shape);
  const until = now() + 15e9; // several suspicions may arise and be dispelled in this time
  await eventually("it was looked at for a while", async () => {
    const { hold } = await machine.bestEffortOf(bestEffort);
    return hold !== undefined && hold.openShare < 0.9 && now() > until;
  });
  expect((await machine.bestEffortOf(bestEffort)).hold?.ignored).toBe(0);
  expect(logOf(machine)).not.toContain("hold ignored");
});

test("a client that runs on whatever its hold says is reported", async () => {
  const machine = await startMachine({}, "--system");
  const high = machine.load("high", busyService);
  await high.serving;
  const client = machine.run("best-effort", ungated, { COTENANT_OFF: "1" });
  await client.said("running");
  await eventually("it is reported", () => logOf(machine).includes("hold ignored"));
  expect((await machine.bestEffortOf(client)).hold?.ignored).toBeGreaterThan(0);
  expect((await machine.cotenant(["status"])).stdout).toContain(
    `ungated (pid ${client.pid}) does not pause`,
  );
  client.signal("SIGKILL");
});
