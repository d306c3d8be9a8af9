// What the agent costs with many clients, and how long a client takes to attach: processes that say hello and hold their
// places, beside real clients. Needs the native parts with their tests, and the bundle.
//   npx tsx bench/cost/agent.ts [SECONDS [soft|auto]]      on the software GPU (if not given) or a real one; prints one JSON document
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { runningAgent, startTimeOf } from "#agent";
import { quantile } from "#core";
import { classes, constants, Hello, helloKinds, messageMagic, view, Welcome } from "#protocol";

const [, , given = "20", gpuKind = "soft"] = process.argv;
const seconds = Number(given);
const directory = mkdtempSync(join(tmpdir(), "cotenant-agent-cost-"));
const env = { ...process.env, COTENANT_DIR: directory };
const cotenant = [process.execPath, "bin/cotenant"] as const;
const children: ChildProcess[] = [];

function start(program: readonly string[]) {
  const [command = "", ...args] = program;
  const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "pipe"] });
  children.push(child);
  return child;
}

const run = (...args: readonly string[]) =>
  new Promise<void>((resolve) => {
    start([...cotenant, ...args]).on("exit", () => resolve());
  });

async function saying(text: string, program: readonly string[]): Promise<void> {
  const child = start(program);
  for await (const line of createInterface({ input: child.stderr }))
    if (line.includes(text)) return;
}

const load = (kind: string, ...shape: readonly string[]) =>
  saying("load: serving", [
    ...[...cotenant, "run", "--class", kind, "--", ...cotenant, "load", ...shape],
    ...["--seconds", "3600", "--warmup", "0.1", "--json"],
  ]);

async function takePlaces(kind: string, count: number, gpu: string): Promise<void> {
  const { socket = "" } = runningAgent(directory) ?? {};
  const child = start(["build/native/tests/places", socket, kind, `${count}`, gpu]);
  let taken = 0;
  for await (const _ of createInterface({ input: child.stdout })) if (++taken === count) return;
}

/** CPU time of the agent so far, in s, and its resident memory in MiB. */
function agentUse() {
  const pid = runningAgent(directory)?.pid ?? 0;
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
    residentMiB: Number(resident?.[1]) / 1024,
  };
}

/** After the newcomers' first seconds, in which code is compiled. */
const SETTLES_WITHIN = 20_000; // ms

async function use(name: string) {
  await new Promise((resolve) => setTimeout(resolve, SETTLES_WITHIN));
  const before = agentUse();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const after = agentUse();
  return {
    name,
    cpuShare: (after.cpuSeconds - before.cpuSeconds) / seconds,
    residentMiB: after.residentMiB,
  };
}

/** From connecting to the whole Welcome, in ms; this process is the client, and leaves at once. */
function attachMs(kind: "high" | "best-effort", gpu: Uint8Array): Promise<number> {
  const bytes = new ArrayBuffer(Hello.size);
  const hello = view(Hello, bytes);
  hello.magic = messageMagic;
  hello.version = constants.VERSION;
  hello.kind = helloKinds.attach;
  hello.class = classes[kind];
  hello.pid = process.pid;
  hello.startTime = startTimeOf(process.pid) ?? 0;
  hello.slot = -1;
  hello.gpuUuid.set(gpu);
  const { socket = "" } = runningAgent(directory) ?? {};
  return new Promise((resolve, reject) => {
    const since = performance.now();
    let came = 0;
    const connection = connect(socket, () => connection.write(new Uint8Array(bytes)));
    connection.on("error", reject);
    connection.on("data", (data) => {
      came += data.length;
      if (came < Welcome.size) return;
      resolve(performance.now() - since);
      connection.destroy();
    });
  });
}

async function attaches(name: string, kind: "high" | "best-effort", gpu: Uint8Array) {
  const ms: number[] = [];
  for (let i = 0; i < 100; i++) {
    ms.push(await attachMs(kind, gpu));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { name, attachMsP50: quantile(ms, 0.5), attachMsP99: quantile(ms, 0.99) };
}

try {
  await run("up", "--gpu", gpuKind);
  const light = ["--arrivals", "uniform", "--rate", "5", "--kernels", "5", "--kernel-us", "50"];
  await load("high", ...light);
  const status = await fetch(`http://127.0.0.1:${runningAgent(directory)?.port}/status`, {
    headers: { authorization: `Bearer ${runningAgent(directory)?.token}` },
  });
  const { gpus } = (await status.json()) as { readonly gpus: readonly { readonly uuid: string }[] };
  const hex = (gpus[0]?.uuid ?? "").replace(/^GPU-/, "").replaceAll("-", "");
  const gpu = Uint8Array.from(Buffer.from(hex, "hex"));
  const found: object[] = [await use("1 high client")];
  found.push(await attaches("a high client beside 1", "high", gpu));
  found.push(await attaches("a best-effort client beside 1 high client", "best-effort", gpu));
  await load("best-effort", ...light);
  await load("best-effort", ...light);
  found.push(await use("1 high and 2 best-effort clients, which take turns"));
  await takePlaces("best-effort", constants.MAX_BEST_EFFORT - 2, hex);
  await takePlaces("high", constants.MAX_HIGH - 1, hex);
  found.push(await use("64 high and 16 best-effort clients"));
  console.log(JSON.stringify({ cpu: cpus()[0]?.model, seconds, found }, null, 1));
} finally {
  await run("down");
  for (const child of children) child.kill("SIGKILL");
  rmSync(directory, { recursive: true, force: true });
}
