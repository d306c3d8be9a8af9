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
  const { pid } = high;
  await machine.load("best-effort", training).serving;
  return String(pid);
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

test("the objective of a running service is shown, changed and taken away, and the log says so", async () => {
  const machine = await startMachine({}, "--policy", "slo");
  const pid = await servedBeside(machine, 10_000_000);
  const objective = (...words: string[]) => machine.cotenant(["objective", ...words]);
  await eventually("met", async () => (await objectiveOf(machine))?.state === "met");
  expect((await objective(pid)).stdout).toMatch(
    new RegExp(`^\\S+ \\(pid ${pid}\\): p99=10s: met, level \\d+\n$`),
  );
  expect((await objective(pid, "p99=10us", "slowdown=5000%")).stdout).toContain(
    `(pid ${pid}): p99=10us slowdown=5000%\n`,
  );
  await eventually("impossible", async () => (await objectiveOf(machine))?.state === "impossible");
  expect(await objectiveOf(machine)).toMatchObject({ level: 0 });
  const { stdout } = await machine.cotenant(["status"]);
  expect(stdout.replace(/\s+/g, " ")).toContain("10 us p99 and slowdown 5000 %, not met even solo");
  expect((await objective(pid, "none", "--json")).stdout).toContain('"objective":[]');
  expect((await objective(pid)).stdout).toContain(`(pid ${pid}): no objective\n`);
  expect((await machine.cotenant(["events"])).stdout).toMatch(
    /objective changed .*objective="?p99=10us slowdown=5000%"?[\s\S]*objective changed .*objective=none/,
  );
});

test.each([
  ["is killed", (machine: Machine) => machine.killAgent()],
  ["is restarted", (machine: Machine) => machine.cotenant(["down"])],
])("a changed objective holds when the agent %s", async (_, end) => {
  const machine = await startMachine();
  const own = { COTENANT_SLO: "ttft.p99=1s" };
  const changed = machine.load("high", service, own);
  const without = machine.load("high", service, own);
  await Promise.all([changed.serving, without.serving]);
  const areServed = async () => {
    for (const client of [changed, without])
      await eventually("it is served", async () => {
        return (await machine.slotOf(client))?.connected === true;
      });
  };
  // An agent that has no CPU time takes a client later.
  await areServed();
  for (const words of [
    [`${changed.pid}`, "slowdown=7%", "itl.p90=30ms"],
    [`${without.pid}`, "none"],
  ])
    expect(await machine.cotenant(["objective", ...words])).toMatchObject({ status: 0 });
  for (let restart = 0; restart < 2; restart++) {
    await end(machine);
    await machine.up();
    await areServed();
    expect(await machine.slotOf(changed)).toMatchObject({
      sloSlowdown: 0.07,
      sloRequests: { itl: 30_000, quantiles: { itl: "p90" } },
    });
    const high = await machine.slotOf(without);
    expect(high).not.toHaveProperty("sloRequests");
    expect(high).not.toHaveProperty("sloSlowdown");
  }
});

test("what is no objective, and who has none, is refused", async () => {
  const machine = await startMachine();
  const training = machine.load("best-effort", ["--arrivals", "closed", "--seconds", "3600"]);
  await training.serving;
  const objective = (...words: string[]) => machine.cotenant(["objective", ...words]);
  expect(await objective("4711", "p99=10")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('objective p99=10: "10" is not a time'),
  });
  expect(await objective("4711", "none", "p99=10ms")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('"none" takes the objective away: it stands alone.'),
  });
  for (const words of [[], ["p99=10ms"], ["none"]])
    expect(await objective(String(training.pid), ...words)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`There is no high client "${training.pid}".`),
    });
});
