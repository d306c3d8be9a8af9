// Memory of an LLM engine beside best-effort jobs: what it is told is free while it measures itself, its start at the default
// share of the GPU's memory, and memory that it gives to the driver while it sleeps.
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  type Client,
  eventually,
  holdMemory,
  type Machine,
  startMachine,
  temporaryDirectory,
} from "../machine.ts";

const start = () => startMachine({ COTENANT_SOFTGPU: "memory=1GiB" });
const movable = { COTENANT_MOVABLE: "1" };

const engine = (
  machine: Machine,
  kind: string,
  mib: number,
  seconds: number,
  { env = {}, folder = "" } = {},
) => {
  const words = [kind, `${mib}`, `${seconds}`, folder];
  return machine.run(
    "high",
    ["python3", "-B", "test/e2e/programs/engine_memory.py", ...words],
    env,
  );
};

let holders = 0;

/** A job that holds memory until `end`. */
async function startHolder(machine: Machine, mib: number, env: Readonly<Record<string, string>>) {
  const file = `${machine.directory}/holder-${holders++}`;
  const holder = machine.run("best-effort", holdMemory(mib, file), env);
  await holder.said("allocated");
  const memory = async () => {
    const own = await machine.slotOf(holder);
    return own && "chunks" in own ? own.memory : undefined;
  };
  const end = async () => {
    writeFileSync(file, "");
    const { stderr } = await holder.ended;
    expect(stderr).toContain("intact");
  };
  return { holder, memory, end };
}

/** How often a service has slept. */
async function sleepsOf(machine: Machine): Promise<number> {
  const { stdout } = await machine.cotenant(["logs", "--lines", "10000"]);
  return stdout.split("service sleeps").length - 1;
}

/** Whether it has ended meanwhile. */
function watchEnd({ ended }: Client) {
  let over = false;
  void ended.then(() => (over = true));
  return () => over;
}

test("while an engine measures itself, jobs that are parked, return, come and end change nothing of what it is told", async () => {
  const machine = await start();
  const first = await startHolder(machine, 300, movable);
  const measuring = engine(machine, "profile", 200, 12);
  await measuring.said("profiling");
  const over = watchEnd(measuring);
  while (!over()) {
    await machine.cotenant(["park", `${first.holder.pid}`]);
    const { end } = await startHolder(machine, 100, movable);
    await machine.cotenant(["resume", `${first.holder.pid}`]);
    await end();
  }
  expect(await measuring.ended).toMatchObject({ status: 0, stdout: "took 200\n" });
  await first.end();
});

test("a job without movable memory that ends meanwhile does not raise what an engine is told", async () => {
  const machine = await start();
  const holder = await startHolder(machine, 300, {});
  const measuring = engine(machine, "profile", 200, 5);
  await measuring.said("profiling");
  await holder.end();
  const { status, stdout } = await measuring.ended;
  expect(status).toBe(0);
  const took = stdout.match(/-?\d+/g)?.map(Number) ?? [];
  expect(Math.min(...took)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...took)).toBe(200);
});

test("an engine starts at its default share beside a movable training, which gives way and returns", async () => {
  const machine = await start();
  const { memory, end } = await startHolder(machine, 400, movable);
  const serving = engine(machine, "serve", 0, 3);
  await serving.said("serving 942 MiB");
  expect(await memory()).toMatchObject({ state: "parked" });
  expect((await serving.ended).status).toBe(0);
  await eventually("the training is back", async () => (await memory())?.state === "open");
  await end();
});

test.each([
  ["without --park-after", {}],
  ["with --park-after", { COTENANT_PARK_AFTER_MS: "300" }],
])("an engine sleeps and wakes %s beside trainings that take its memory", async (_, env) => {
  const machine = await start();
  const folder = temporaryDirectory();
  const one = await startHolder(machine, 300, movable);
  const sleeping = engine(machine, "sleep", 600, 1, { env, folder });
  await sleeping.said("asleep 0");
  const visitor = await startHolder(machine, 400, movable);
  for (let number = 0; number < 3; number++) {
    await sleeping.said(`asleep ${number}`);
    // Memory whose place in the host is pinned can be parked within the time that an allocation waits.
    await eventually("the trainings can be parked", async () => {
      const both = [await one.memory(), await visitor.memory()];
      return both.every((memory) => memory && memory.pinnedBytes >= memory.bytes);
    });
    writeFileSync(`${folder}/wake-${number}`, "");
    await sleeping.said(`idle ${number}`);
    if ("COTENANT_PARK_AFTER_MS" in env)
      await eventually(
        "it sleeps while it is idle",
        async () => (await sleepsOf(machine)) > number,
      );
    writeFileSync(`${folder}/read-${number}`, "");
    await sleeping.said(`awake ${number}`);
  }
  const { status, stderr } = await sleeping.ended;
  expect({ status, stderr }).toEqual({ status: 0, stderr });
  expect(stderr.match(/awake .*/g)).toEqual(["awake 0 intact", "awake 1 intact", "awake 2 intact"]);
  expect((await sleepsOf(machine)) > 0).toBe("COTENANT_PARK_AFTER_MS" in env);
  await Promise.all([one.end(), visitor.end()]);
});
