// Taking a best-effort job off the GPU: by its checkpoint, by parking, or by ending it.
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { eventually, openBurst, startMachine } from "../machine.ts";

const training = [
  "--seconds",
  "600",
  "--arrivals",
  "closed",
  "--kernels",
  "20",
  "--kernel-us",
  "100",
];

type Env = Readonly<Record<string, string>>;
/** A driver by which a job without movable memory cannot be parked. */
const withoutCheckpoints: Env = { COTENANT_SOFTGPU: "checkpoints=refused" };

async function startTraining(env: Env = {}, gpu: Env = {}) {
  const machine = await startMachine(gpu);
  const train = machine.load("best-effort", training, env);
  await train.serving;
  const evict = (...args: string[]) => machine.cotenant(["evict", String(train.pid), ...args]);
  return { machine, train, evict };
}

test("a movable job is parked and goes on later", async () => {
  const { machine, train, evict } = await startTraining({ COTENANT_MOVABLE: "1" });
  expect(await evict("--end")).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("parked"),
  });
  expect(await machine.cotenant(["resume", String(train.pid)])).toMatchObject({ status: 0 });
  await train.finish();
});

test("a job that cannot be parked goes on unless it may be ended", async () => {
  const { train, evict } = await startTraining({}, withoutCheckpoints);
  expect(await evict()).toMatchObject({ status: 1, stderr: expect.stringContaining("--movable") });
  expect(await evict("--end")).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("ended"),
  });
  expect(await train.ended).toMatchObject({ status: 0 });
});

test("a service is not taken off the GPU, and the error says what does that", async () => {
  const machine = await startMachine();
  const serve = machine.load("high", ["--seconds", "600", "--rate", "20"]);
  await serve.serving;
  for (const command of ["park", "resume", "evict"])
    expect(await machine.cotenant([command, String(serve.pid)])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/is a high client, .*--park-after TIME/),
    });
  await serve.finish();
});

test("a job that does not heed SIGTERM is killed", async () => {
  const machine = await startMachine(withoutCheckpoints);
  const stubborn = machine.run("best-effort", openBurst(`${machine.directory}/never`), {
    NODE_OPTIONS: "--import=data:text/javascript,process.on('SIGTERM',()=>{})",
  });
  await eventually("it is there", async () => (await machine.slotOf(stubborn)) !== undefined);
  const evicted = await machine.cotenant([
    ...["evict", String(stubborn.pid), "--end", "--grace", "500ms"],
  ]);
  expect(evicted).toMatchObject({ status: 0, stdout: expect.stringContaining("killed") });
  expect(await stubborn.ended).toMatchObject({ signal: "SIGKILL" });
});

test("a checkpoint comes before the end, and one that fails lets the job go on", async () => {
  const { machine, train, evict } = await startTraining({ COTENANT_MOVABLE: "1" });
  const failed = await evict("--checkpoint", "exit 3");
  expect(failed).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("goes on, because its checkpoint command ended with status 3."),
  });
  const late = await evict("--checkpoint", "sleep 60", "--within", "100ms");
  expect(late).toMatchObject({ status: 1, stderr: expect.stringContaining("longer") });
  expect(await machine.slotOf(train)).toBeDefined();
  const saved = `${machine.directory}/saved`;
  const done = await evict("--checkpoint", `echo $COTENANT_PID > ${saved}`);
  expect(done).toMatchObject({ status: 0, stdout: expect.stringContaining("ended") });
  expect(existsSync(saved)).toBe(true);
  expect(await train.ended).toMatchObject({ status: 0 });
});
