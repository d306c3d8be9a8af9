// `cotenant run` as it stands between a shell and a program: which process becomes the client, and what of
// the program's end is seen outside.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { busyService, training } from "./faults.ts";
import { cotenantItself, emptyMachine, eventually, openBurst, startMachine } from "./machine.ts";

const shell = (script: string) => ["sh", "-c", script];
const load = `${cotenantItself.join(" ")} load`;
const briefly = "--arrivals closed --seconds 1 --warmup 0.1 --json";

const parentOf = (pid: number) => Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(" ")[3]);

test("of a shell and its child, the one that uses the GPU becomes the client", async () => {
  const machine = await startMachine();
  const outer = machine.run("best-effort", shell(`${load} ${briefly}; exit $?`));
  await outer.said("load: serving");
  const clients = (await machine.status()).gpus.flatMap(({ bestEffort }) => bestEffort);
  expect(clients).toMatchObject([{ name: "sh", connected: true }]);
  const [{ pid } = { pid: 0 }] = clients;
  expect(pid).not.toBe(outer.pid);
  expect(parentOf(pid)).toBe(outer.pid);
  const { status, stdout } = await outer.ended;
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ intact: true });
  await eventually("its slot is free", async () => !(await machine.slotOf({ pid })));
});

test("children that use the GPU beside each other are clients each", async () => {
  const machine = await startMachine();
  const both = `${load} ${briefly} & ${load} ${briefly}; wait`;
  const outer = machine.run("high", shell(both));
  await eventually("both are there", async () => {
    const slots = (await machine.status()).gpus.flatMap(({ high }) => high.map(({ slot }) => slot));
    return slots.join() === "0,1";
  });
  const { status, stdout } = await outer.ended;
  expect(status).toBe(0);
  for (const line of stdout.trim().split("\n"))
    expect(JSON.parse(line)).toMatchObject({ intact: true });
});

test("what compiles kernels in a best-effort program prepares them, where long ones are to stop", async () => {
  const machine = emptyMachine();
  await machine.up("--set", "preemptUs=200");
  const asked = shell('echo "$TRITON_PTXAS_PATH $COTENANT_PTXAS"');
  const said = async (kind: "high" | "best-effort", env = {}) =>
    (await machine.run(kind, asked, env).ended).stdout.trim();
  expect(await said("best-effort")).toMatch(/^\S+\/cotenant-ptxas$/);
  expect(await said("best-effort", { TRITON_PTXAS_PATH: "/own/ptxas" })).toMatch(
    /^\S+\/cotenant-ptxas \/own\/ptxas$/,
  );
  expect(await said("high")).toBe("");
});

test("a program that never uses CUDA is no client", async () => {
  const machine = await startMachine();
  expect(await machine.run("best-effort", ["true"]).ended).toEqual({
    status: 0,
    signal: null,
    stdout: "",
    stderr: "",
  });
  const { gpus } = await machine.status();
  expect(gpus.flatMap(({ high, bestEffort }) => [...high, ...bestEffort])).toEqual([]);
});

test.each([
  { what: "exit 0", script: "exit 0", end: { status: 0, signal: null } },
  { what: "exit 7", script: "exit 7", end: { status: 7, signal: null } },
  { what: "its own SIGTERM", script: "kill -TERM $$", end: { status: null, signal: "SIGTERM" } },
  { what: "its own SIGSEGV", script: "kill -SEGV $$", end: { status: null, signal: "SIGSEGV" } },
])("$what of the program is what run's parent sees", async ({ script, end }) => {
  const machine = await startMachine();
  expect(await machine.run("high", shell(script)).ended).toMatchObject(end);
});

test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "%s for run reaches the program",
  async (signal) => {
    const machine = await startMachine();
    const trap = `trap 'echo heard; exit 3' ${signal.slice(3)}; echo ready >&2`;
    const client = machine.run("best-effort", shell(`${trap}; while :; do sleep 0.02; done`));
    await client.said("ready");
    client.signal(signal);
    expect(await client.ended).toMatchObject({ status: 3, stdout: "heard\n" });
  },
);

test("SIGTERM ends a program that has no handler for it, though its work is parked", async () => {
  const machine = await startMachine();
  const high = machine.load("high", busyService);
  await high.serving;
  const never = `${machine.directory}/never`;
  const parked = machine.run("best-effort", openBurst(never));
  const { activity, holds } = machine.region().memory;
  await eventually("it is parked", () => holds.hold.get(0) === 1 && (activity.waiting & 1) === 1);
  parked.signal("SIGTERM");
  expect(await parked.ended).toMatchObject({ status: null, signal: "SIGTERM" });
  expect((await high.finish()).result.requests).toBeGreaterThan(0);
});

test("COTENANT_OFF=1 leaves the program alone: no library of ours, no slot, nothing held", async () => {
  const machine = await startMachine();
  const off = { COTENANT_OFF: "1" };
  const { stdout } = await machine.run("best-effort", shell("echo [$LD_PRELOAD]"), off).ended;
  expect(stdout).toBe("[]\n");
  const high = machine.load("high", busyService);
  await high.serving;
  const free = machine.load("best-effort", training, off);
  await free.serving;
  await eventually("it is seen on the GPU, as a stranger", async () => {
    const [gpu] = (await machine.status()).gpus;
    expect(gpu?.bestEffort).toEqual([]);
    return gpu?.strangers.some(({ pid }) => pid === free.pid) === true;
  });
  expect((await free.finish()).result.requests).toBeGreaterThan(0);
  expect((await high.finish()).result.requests).toBeGreaterThan(0);
});
