// `cotenant run` as it stands between a shell and a program: which process becomes the client, and what of
// the program's end is seen outside.
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pathsIn } from "#agent";
import { softGpuFolder } from "#core";
import { busyService, training } from "./faults.ts";
import {
  cotenantItself,
  emptyMachine,
  eventually,
  launcher,
  type Machine,
  openBurst,
  startMachine,
} from "./machine.ts";

const shell = (script: string) => ["sh", "-c", script];
const load = `${cotenantItself.join(" ")} load`;
const briefly = "--arrivals closed --seconds 1 --warmup 0.1 --json";
/** Until SIGTERM: an agent that has no CPU time lets clients wait. */
const untilSignal = "--arrivals closed --seconds 600 --warmup 0.1 --json";

const parentOf = (pid: number) => Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(" ")[3]);

test("of a shell and its child, the one that uses the GPU becomes the client", async () => {
  const machine = await startMachine();
  const outer = machine.run("best-effort", shell(`${load} ${untilSignal}; exit $?`));
  await outer.said("load: serving");
  const clients = async () => (await machine.status()).gpus.flatMap(({ bestEffort }) => bestEffort);
  await eventually("it is a client", async () => (await clients()).length > 0);
  const there = await clients();
  expect(there).toMatchObject([{ name: "sh", connected: true }]);
  const [{ pid } = { pid: 0 }] = there;
  expect(pid).not.toBe(outer.pid);
  expect(parentOf(pid)).toBe(outer.pid);
  process.kill(pid, "SIGTERM");
  const { status, stdout } = await outer.ended;
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ intact: true });
  await eventually("its slot is free", async () => !(await machine.slotOf({ pid })));
});

test("children that use the GPU beside each other are clients each", async () => {
  const machine = await startMachine();
  const both = `${load} ${untilSignal} & ${load} ${untilSignal}; wait`;
  const outer = machine.run("high", shell(both));
  const there = async () => (await machine.status()).gpus.flatMap(({ high }) => high);
  await eventually("both are there", async () => {
    const slots = (await there()).map(({ slot }) => slot);
    return slots.join() === "0,1";
  });
  for (const { pid } of await there()) process.kill(pid, "SIGTERM");
  const { status, stdout } = await outer.ended;
  expect(status).toBe(0);
  for (const line of stdout.trim().split("\n"))
    expect(JSON.parse(line)).toMatchObject({ intact: true });
});

test("a program that lost the library on its way is shown once, with the cause", async () => {
  const machine = await startMachine();
  const long = "--arrivals closed --seconds 600";
  const outer = machine.run("best-effort", shell(`env -u LD_PRELOAD ${load} ${long}; exit $?`));
  await eventually("it is on the GPU", async () => {
    const { launched, gpus } = await machine.status();
    const strangers = gpus.flatMap((gpu) => gpu.strangers);
    if (strangers.length === 0) return false;
    expect(strangers).toMatchObject([
      { because: expect.stringContaining("LD_PRELOAD was taken out"), launch: outer.pid },
    ]);
    expect(launched).toEqual([]);
    process.kill(strangers[0]?.pid ?? 0, "SIGTERM");
    return true;
  });
  await outer.ended;
});

test("a program whose LD_PRELOAD is replaced by its launcher is a client all the same", async () => {
  const machine = await startMachine();
  const other = "/usr/lib/x86_64-linux-gnu/libm.so.6";
  const outer = machine.run(
    "best-effort",
    shell(`LD_PRELOAD=${other} ${load} ${briefly}; exit $?`),
  );
  await outer.said("load: serving");
  expect((await machine.status()).gpus.flatMap(({ bestEffort }) => bestEffort)).toHaveLength(1);
  expect((await outer.ended).status).toBe(0);
});

test("what compiles kernels in a best-effort program prepares them, where long ones are to stop", async () => {
  const machine = emptyMachine();
  await machine.up("--set", "preemptUs=200");
  const asked = shell(
    'echo "$TRITON_PTXAS_PATH $COTENANT_PTXAS; $TRITON_PTXAS_BLACKWELL_PATH $COTENANT_PTXAS_BLACKWELL"',
  );
  const said = async (kind: "high" | "best-effort", env = {}) =>
    (await machine.run(kind, asked, env).ended).stdout.trim();
  expect(await said("best-effort")).toMatch(
    /^\S+\/cotenant-ptxas ; \S+\/cotenant-ptxas-blackwell$/,
  );
  expect(await said("best-effort", { TRITON_PTXAS_PATH: "/own/ptxas" })).toMatch(
    /^\S+\/cotenant-ptxas \/own\/ptxas; \S+\/cotenant-ptxas-blackwell$/,
  );
  expect(await said("best-effort", { TRITON_PTXAS_BLACKWELL_PATH: "/own/newer" })).toMatch(
    /^\S+\/cotenant-ptxas ; \S+\/cotenant-ptxas-blackwell \/own\/newer$/,
  );
  expect(await said("high")).toBe(";");
});

/** The software GPU, which an agent would name. */
const softGpu = ({ directory }: Machine) => ({
  LD_LIBRARY_PATH: softGpuFolder(),
  COTENANT_SOFTGPU_DIR: pathsIn(directory).softGpu,
});

test("a high client that came before the agent is taken up when the agent comes", async () => {
  const machine = emptyMachine();
  mkdirSync(pathsIn(machine.directory).softGpu);
  const high = machine.load("high", busyService, softGpu(machine));
  await high.said("runs unprotected until an agent comes");
  await high.serving;
  await machine.up();
  await eventually("it has a slot", async () => (await machine.slotOf(high)) !== undefined);
  await eventually("it is there to be protected", () => machine.memory().roster.registered === 1);
  expect((await high.finish()).result.requests).toBeGreaterThan(0);
});

test("a high client without an agent is told once that nothing protects it", async () => {
  const machine = emptyMachine();
  mkdirSync(pathsIn(machine.directory).softGpu);
  const program = [...cotenantItself, "load", ...briefly.split(" ")];
  const { status, stdout, stderr } = await machine.run("high", program, softGpu(machine)).ended;
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ intact: true });
  expect(stderr.match(/^cotenant: /gm)).toHaveLength(1);
});

test("a best-effort client that is told to wait starts when the agent comes", async () => {
  const machine = emptyMachine();
  const waiting = machine.cotenant([
    ...["run", "--class", "best-effort", "--wait-agent", "--", ...cotenantItself],
    ...["load", ...briefly.split(" ")],
  ]);
  await machine.up();
  const { status, stdout, stderr } = await waiting;
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ intact: true });
  expect(stderr).toContain("Waiting for an agent");
  expect(stderr).not.toContain("no agent answers");
});

test("a program has the descriptors that were passed to it from 3 on, and none of cotenant's", async () => {
  const machine = await startMachine();
  const list = "cat <&3; cat <&4; ls /proc/self/fd";
  const words = ["sh", "-c", list];
  const run = [launcher, "run", "--class", "high", "--"];
  const passed = 'exec 3<<"A" 4<<"B"; exec "$@"\nthree\nA\nfour\nB\n';
  const seen = (...command: string[]) =>
    machine.elsewhere(["bash", "-c", passed, "bash", ...command]).ended;
  const { stdout } = await seen(...run, ...words);
  expect(stdout).toMatch(/^three\nfour\n0\n/);
  expect(stdout).toBe((await seen(...words)).stdout);
});

test("a program that never uses CUDA is no client, and says so once at its end", async () => {
  const machine = await startMachine();
  const { status, stdout, stderr } = await machine.run("best-effort", [
    ...["bash", "-c", "/bin/true; (exit 0)"],
  ]).ended;
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  expect(stderr).toMatch(/^cotenant: no CUDA context was seen in this program\. .*\n$/);
  const { gpus } = await machine.status();
  expect(gpus.flatMap(({ high, bestEffort }) => [...high, ...bestEffort])).toEqual([]);
});

test("of a program that fails before it uses CUDA only its own words are heard", async () => {
  const machine = await startMachine();
  const words = ["bash", "-c", "echo no such model >&2; exit 3"];
  const { status, stderr } = await machine.run("best-effort", words).ended;
  expect({ status, stderr }).toEqual({ status: 3, stderr: "no such model\n" });
  expect((await machine.status()).launched).toEqual([]);
});

test("a program that fails after it has worked for longer is told what one that ends well is told", async () => {
  const machine = await startMachine();
  const { status, stderr } = await machine.run("high", ["bash", "-c", "sleep 11; exit 3"]).ended;
  expect(status).toBe(3);
  expect(stderr).toMatch(/^cotenant: no CUDA context was seen in this program\. .*\n$/);
});

test("a reserve that a GPU has not is refused, as jobs would be parked for ever", async () => {
  const machine = await startMachine();
  const words = [...cotenantItself, "load", ...briefly.split(" ")];
  expect(await machine.run("best-effort", words).ended).toMatchObject({ status: 0 });
  await machine.cotenant(["down"]);
  const { status, stderr } = await machine.cotenant(["up", "--gpu", "soft", "--reserve", "50GiB"]);
  expect(stderr).toContain("--reserve of 50.0 GiB would leave nothing of Cotenant Software GPU");
  expect(status).toBe(1);
});

test("status shows a program that is launched until it uses CUDA, itself or by a child", async () => {
  const machine = await startMachine();
  const { directory } = machine;
  const started = `read -r _ < ${directory}/go; ${load} ${briefly}; read -r _ < ${directory}/end; exit 0`;
  const { status } = await machine.elsewhere(["mkfifo", `${directory}/go`, `${directory}/end`])
    .ended;
  expect(status).toBe(0);
  const shellItself = machine.run("high", ["bash", "-c", started]);
  const launched = async () => (await machine.status()).launched;
  await eventually("it is shown", async () => (await launched()).length > 0);
  expect(await launched()).toEqual([{ pid: shellItself.pid, name: "bash", class: "high" }]);
  expect((await machine.cotenant(["status"])).stdout).toContain(
    `bash (pid ${shellItself.pid}, high): launched, no CUDA yet`,
  );
  await machine.elsewhere(["sh", "-c", `echo > ${directory}/go`]).ended;
  await shellItself.said("load: serving");
  expect(await launched()).toEqual([]);
  await machine.elsewhere(["sh", "-c", `echo > ${directory}/end`]).ended;
  const { stderr } = await shellItself.ended;
  expect(stderr).not.toContain("no CUDA context");
});

test("a program that was killed before it used CUDA is not shown", async () => {
  const machine = await startMachine();
  const killed = machine.run("high", ["sleep", "1000"]);
  const launched = async () => (await machine.status()).launched.length;
  await eventually("it is shown", async () => (await launched()) === 1);
  killed.signal("SIGKILL");
  await killed.ended;
  expect(await launched()).toBe(0);
  expect(readdirSync(pathsIn(machine.directory).launched)).toEqual([]);
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
  await eventually("it is attached", async () => (await machine.slotOf(high)) !== undefined);
  const never = `${machine.directory}/never`;
  const parked = machine.run("best-effort", openBurst(never));
  await eventually("it is parked", () => {
    const { holds, bestEffort } = machine.memory();
    return holds[0]?.word === 1 && bestEffort[0]?.waiting === 1;
  });
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
