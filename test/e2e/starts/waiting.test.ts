// A best-effort job that comes while its GPU takes none waits in `cotenant run`, before its program starts.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { pathsIn, runningAgent } from "#agent";
import { askToHold } from "#client";
import {
  cotenantItself,
  eventually,
  launcher,
  type Machine,
  startMachine,
  withoutLate,
} from "../machine.ts";
import { pretend } from "../protection/pretend.ts";

const cool = { temperatureC: 60, slowdownC: 90 };
const hot = { temperatureC: 97, slowdownC: 90 };
const closed = ["--arrivals", "closed", "--seconds", "3600"];
const briefly = ["load", "--arrivals", "closed", "--seconds", "0.3", "--warmup", "0.1", "--json"];

const becomes = (machine: Machine, wanted: string) =>
  eventually(wanted, async () => (await machine.status()).gpus[0]?.health?.state === wanted);

/** A machine whose GPU is over its limit, beside a high client, without which it would not be known. */
async function overlimit(env = {}) {
  const machine = await startMachine(env, "--health", "backOff=0.5");
  const service = machine.load("high", ["--rate", "20", "--seconds", "3600"]);
  await service.serving;
  pretend(machine, hot);
  await becomes(machine, "overlimit");
  return machine;
}

/** `cotenant run` of a best-effort job with these options. */
const job = (machine: Machine, options: readonly string[], program: readonly string[], env = {}) =>
  machine.elsewhere(
    [launcher, "run", "--class", "best-effort", "--name", "train"].concat(
      ...[options, "--", program],
    ),
    env,
  );

const waits = 'cotenant: "train" waits before its start: ';

describe("beside a GPU over its limit", () => {
  test("a job waits without a slot, says why, and starts when the GPU is well", async () => {
    const machine = await overlimit();
    const train = job(machine, [], [...cotenantItself, ...briefly]);
    await train.said(waits);
    expect(readFileSync(`/proc/${train.pid}/cmdline`, "latin1")).toContain("\0run\0");
    const [gpu] = (await machine.status()).gpus;
    expect(gpu?.bestEffort).toEqual([]);
    expect(readdirSync(pathsIn(machine.directory).launched)).not.toContain(`${train.pid}`);

    const agent = runningAgent(machine.directory);
    if (!agent || !gpu) throw new Error("no agent");
    await askToHold(agent, gpu.uuid, "the pod of/somebody has it");
    pretend(machine, cool);
    await train.said("An operator holds");
    await askToHold(agent, gpu.uuid, undefined);
    const { status, stdout, stderr } = await train.ended;
    expect({ status, intact: JSON.parse(stdout).intact }).toEqual({ status: 0, intact: true });
    const lines = withoutLate(stderr)
      .split("\n")
      .filter((line) => line.startsWith("cotenant:"));
    expect(lines).toEqual([
      expect.stringMatching(/waits before its start: No new .* It is overlimit: GPU temperature/),
      // It may have asked while the GPU was on its way back.
      ...lines.slice(1, -2).map(() => expect.stringContaining("It is unhealthy")),
      `${waits}An operator holds the best-effort work of ${gpu.uuid}.`,
      expect.stringMatching(/^cotenant: "train" starts after a wait of \d+ s\.$/),
    ]);
    const { stdout: events } = await machine.cotenant(["events", "--json"]);
    expect(events).toMatch(/"event":"waits".*"because":"No new best-effort client/);
    expect(events).not.toContain('"event":"refused"');
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s ends a job that waits", async (name) => {
    const machine = await overlimit();
    const train = job(machine, [], ["true"]);
    await train.said(waits);
    train.signal(name);
    expect(await train.ended).toMatchObject({ status: null, signal: name });
  });

  test("a job that may not wait, or not so long, ends with status 75 and a sentence", async () => {
    const machine = await overlimit();
    const reason = "No new best-effort client may come to ";
    const none = await job(machine, ["--wait-at-most", "0"], ["true"]).ended;
    expect(none).toMatchObject({ status: 75, stdout: "" });
    expect(none.stderr).toMatch(
      new RegExp(
        `^cotenant: "train" was not started: ${reason}.*--wait-at-most lets it wait\\.\\n$`,
      ),
    );
    const short = await job(machine, ["--wait-at-most", "6s"], ["true"]).ended;
    expect(short.status).toBe(75);
    expect(short.stderr).toContain(waits);
    // An agent that gets no CPU time may be busy with the last question.
    const end = `"train" was not started within 6 s: (${reason}|The agent .* is busy)`;
    expect(short.stderr).toMatch(new RegExp(end));
  });

  test("a job that can use no GPU starts at once, and so does one that Cotenant leaves alone", async () => {
    const machine = await overlimit();
    const said = { status: 0, stdout: "here\n", stderr: "" };
    const here = ["echo", "here"];
    const hidden = job(machine, ["--wait-at-most", "0"], here, { CUDA_VISIBLE_DEVICES: "" });
    expect(await hidden.ended).toMatchObject(said);
    expect(await job(machine, ["--ungated"], here).ended).toMatchObject(said);
  });

  test("a service starts at once", async () => {
    const machine = await overlimit();
    const { status, stderr } = await machine.run("high", [...cotenantItself, ...briefly]).ended;
    expect(stderr).not.toContain("waits");
    expect(status).toBe(0);
  });
});

test("what a job reads is left for its program", async () => {
  const machine = await overlimit();
  const script = `"$@" < "$0"`;
  const run = [launcher, "run", "--class", "best-effort", "--name", "train", "--", "cat"];
  const file = `${machine.directory}/agent.log`;
  const train = machine.elsewhere(["sh", "-c", script, file, ...run]);
  await train.said(waits);
  pretend(machine, cool);
  const { status, stdout } = await train.ended;
  expect(status).toBe(0);
  expect(stdout).toContain("started");
});

test("a job that waits goes on waiting while its agent is replaced", async () => {
  const machine = await overlimit();
  const train = job(machine, [], [...cotenantItself, ...briefly]);
  await train.said("It is overlimit");
  await machine.cotenant(["down"]);
  await train.said("No agent is running");
  pretend(machine, cool);
  await machine.up();
  expect((await train.ended).status).toBe(0);
});

test("a process that first uses the GPU while it takes none waits there, and goes on", async () => {
  const machine = await startMachine({}, "--health", "backOff=0.5");
  const first = machine.load("best-effort", closed);
  await first.serving;
  const go = `${machine.directory}/go`;
  const late = 'echo started >&2; while ! [ -e "$0" ]; do sleep 0.1; done; "$@"';
  const program = ["sh", "-c", late, go, ...cotenantItself, ...briefly];
  const forked = job(machine, [], program);
  await forked.said("started");
  pretend(machine, hot);
  await becomes(machine, "overlimit");
  writeFileSync(go, "");
  await forked.said("this best-effort client waits at its first use of the GPU: No new");
  pretend(machine, cool);
  const { status, stdout, stderr } = await forked.ended;
  expect(stderr).toContain("this best-effort client goes on after a wait of");
  expect({ status, intact: JSON.parse(stdout).intact }).toEqual({ status: 0, intact: true });
});
