// Errors of a best-effort job and of the sensors beside a service: the service goes on, and its work is intact.
import { expect, test } from "vitest";
import { eventually, type Machine, startMachine } from "../machine.ts";
import { pretend } from "./pretend.ts";

const forever = ["--seconds", "3600"];
const cool = { temperatureC: 60, slowdownC: 90 };

const stateOf = async (machine: Machine) => (await machine.status()).gpus[0]?.health?.state;

async function sharing() {
  const machine = await startMachine();
  const service = machine.load("high", ["--rate", "40", ...forever]);
  await service.serving;
  const train = machine.load("best-effort", ["--arrivals", "closed", ...forever]);
  await train.serving;
  pretend(machine, cool);
  const bursts = async () => (await machine.status()).gpus[0]?.high[0]?.bursts ?? 0;
  /** The service has answered some more requests. */
  const serves = async () => {
    const before = await bursts();
    await eventually("more requests", async () => (await bursts()) >= before + 20);
  };
  await serves();
  return { machine, service, train, serves };
}

test("a best-effort job that dies with an error of its own leaves the GPU healthy and open for the next", async () => {
  const { machine, service, train, serves } = await sharing();
  train.signal("SIGKILL");
  pretend(machine, { ...cool, xids: [31, 43] });
  await eventually("the errors are told", async () => {
    const { stdout } = await machine.cotenant(["events"]);
    return /xid .*xid=31/.test(stdout) && /xid .*xid=43/.test(stdout);
  });
  await serves();
  expect(await stateOf(machine)).toBe("healthy");
  const next = machine.load("best-effort", ["--arrivals", "closed", ...forever]);
  await next.serving;
  await next.finish();
  const { served } = await service.finish();
  expect(served.length).toBeGreaterThan(40);
});

test("a sensor that falls silent closes the GPU for new jobs, and neither the service nor the training stops", async () => {
  const { machine, service, train, serves } = await sharing();
  pretend(machine, { ...cool, temperatureC: null });
  await eventually("unhealthy", async () => (await stateOf(machine)) === "unhealthy");
  const late = machine.load("best-effort", ["--arrivals", "closed", ...forever]);
  await late.said("has not been read for");
  const before = (await machine.bestEffortOf(train)).finishedSeconds;
  await eventually(
    "the training goes on",
    async () => (await machine.bestEffortOf(train)).finishedSeconds > before,
  );
  await serves();
  pretend(machine, cool);
  await late.serving;
  for (const load of [late, train, service]) await load.finish();
});

test("a GPU that is disabled under a running service holds the training and lets the service work to its end", async () => {
  const { machine, service, train, serves } = await sharing();
  pretend(machine, { ...cool, unusable: "the driver has lost it" });
  await eventually("disabled", async () => (await stateOf(machine)) === "disabled");
  expect(machine.memory().settings.paused).toBe(1);
  await serves();
  pretend(machine, cool);
  await eventually("healthy", async () => (await stateOf(machine)) === "healthy");
  await train.finish();
  await service.finish();
});
