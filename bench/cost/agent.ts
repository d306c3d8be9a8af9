// CPU use of the agent, and the time that clients wait for it when they attach:
// npx tsx bench/cost/agent.ts [SECONDS [soft|auto [all|few|many]]]
// windows of SECONDS; few: up to 3 clients on the software GPU (the default) or a real one; prints one JSON document.
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { cpus } from "node:os";
import { startTimeOf } from "#agent";
import { quantile } from "#core";
import { classes, constants, Hello, helloKinds, messageMagic, view, Welcome } from "#protocol";
import { cotenant, type OwnAgent, withOwnAgent } from "./own-agent.ts";

const [, , given = "20", gpuKind = "soft", extent = "all"] = process.argv;
const seconds = Number(given);
const load = ({ saying }: OwnAgent, kind: string, ...shape: readonly string[]) =>
  saying("load: serving", [
    ...[...cotenant, "run", "--class", kind, "--", ...cotenant, "load", ...shape],
    ...["--seconds", "3600", "--warmup", "0.1", "--json"],
  ]);

/** CPU time of the agent so far, in s, and its resident memory in MiB. */
function useOf({ file }: OwnAgent) {
  const { pid } = file();
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
    residentMiB: Number(resident?.[1]) / 1024,
  };
}

/** After the newcomers' first seconds, in which code is compiled. */
const SETTLES_WITHIN = 20_000; // ms

async function use(agent: OwnAgent, name: string) {
  await new Promise((resolve) => setTimeout(resolve, SETTLES_WITHIN));
  const before = useOf(agent);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const after = useOf(agent);
  return {
    name,
    cpuShare: (after.cpuSeconds - before.cpuSeconds) / seconds,
    residentMiB: after.residentMiB,
  };
}

/** Reads as an open page of the dashboard does. Returns a function that closes it. */
async function openDashboard({ file }: OwnAgent): Promise<() => void> {
  const { port, token } = file();
  const stop = new AbortController();
  const answer = await fetch(`http://127.0.0.1:${port}/dashboard/live`, {
    headers: { authorization: `Bearer ${token}` },
    signal: stop.signal,
  });
  const reading = answer.body?.pipeTo(new WritableStream()).catch(() => {});
  void reading;
  return () => stop.abort();
}

/** From connecting to the whole Welcome, in ms; this process is the client, and leaves at once. */
function attachMs(
  { file }: OwnAgent,
  kind: "high" | "best-effort",
  gpu: Uint8Array,
): Promise<number> {
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
  const { socket } = file();
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

async function attaches(agent: OwnAgent, name: string, kind: "high" | "best-effort") {
  const gpu = Uint8Array.from(Buffer.from(await agent.gpu(), "hex"));
  const ms: number[] = [];
  for (let i = 0; i < 100; i++) {
    ms.push(await attachMs(agent, kind, gpu));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { name, attachMsP50: quantile(ms, 0.5), attachMsP99: quantile(ms, 0.99) };
}

async function few(agent: OwnAgent, light: readonly string[]): Promise<object[]> {
  const found: object[] = [await use(agent, "1 high client")];
  found.push(await attaches(agent, "a high client beside 1", "high"));
  found.push(await attaches(agent, "a best-effort client beside 1 high client", "best-effort"));
  await load(agent, "best-effort", ...light);
  await load(agent, "best-effort", ...light);
  found.push(await use(agent, "1 high and 2 best-effort clients, which take turns"));
  const close = await openDashboard(agent);
  found.push(await use(agent, "the same, with the dashboard open"));
  close();
  return found;
}

async function measure(agent: OwnAgent) {
  const light = ["--arrivals", "uniform", "--rate", "5", "--kernels", "5", "--kernel-us", "50"];
  await load(agent, "high", ...light);
  const found: object[] = extent === "many" ? [] : await few(agent, light);
  if (extent === "few") return { cpu: cpus()[0]?.model, seconds, found };
  await agent.takePlaces("best-effort", constants.MAX_BEST_EFFORT - (extent === "many" ? 0 : 2));
  await agent.takePlaces("high", constants.MAX_HIGH - 1);
  found.push(await use(agent, "64 high and 16 best-effort clients"));
  await openDashboard(agent);
  found.push(await use(agent, "the same, with the dashboard open"));
  return { cpu: cpus()[0]?.model, seconds, found };
}

console.log(JSON.stringify(await withOwnAgent(gpuKind, measure), null, 1));
