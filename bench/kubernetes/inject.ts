// How much later a container starts because its node gives it Cotenant's library: the time that the real containerd takes to
// create one, without a plugin of its Node Resource Interface, with ours for a container that is none of a high pod and for one
// that is, in turns; and with a plugin that hangs. The plugin is the node part's, in a process of its own.
// Usage: npx tsx bench/kubernetes/inject.ts [--containers 40]
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpus, loadavg } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { clientEdits } from "#client";
import { dateNow } from "#core";
import { Injector } from "#kubernetes/node";
import { type Containerd, startContainerd } from "../../test/kubernetes/machines/containers.ts";

const { values } = parseArgs({
  options: { containers: { type: "string", default: "40" }, plugin: { type: "string" } },
});
const HUNG = 5;
const ASKED_AFTER_MS = 500;
const BLOCK = 10;
const rounded = (n: number): number => Math.round(10 * n) / 10;
const edits = clientEdits("/run/cotenant", "/opt/cotenant/lib/libcotenant.so");

/** The other process: says a line once the runtime has taken it. */
async function bePlugin(path: string): Promise<void> {
  const injector = new Injector({
    ...{
      path,
      edits,
      ready: () => true,
      lacking: () => undefined,
      claims: { lookAt: async () => true, knows: () => true, gives: () => false },
      isExcluded: () => false,
    },
    podOf: (uid) => ({
      metadata: { name: "serve", uid, resourceVersion: "1" },
      spec: { containers: [{ name: "main", resources: { limits: { "nvidia.com/gpu": "1" } } }] },
      status: {},
    }),
    say: console.log,
  });
  await injector.run(new AbortController().signal);
}

async function startPlugin(containerd: Containerd) {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", fileURLToPath(import.meta.url), "--plugin", containerd.nri],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  for await (const line of createInterface({ input: child.stdout }))
    if (line.startsWith("containers of high pods get the library")) break;
  // The runtime has said all it knows by then, and asks from a moment later on.
  await wait(ASKED_AFTER_MS);
  return {
    hang: () => child.kill("SIGSTOP"),
    async stop() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

async function measure(containerd: Containerd): Promise<object> {
  const count = Number(values.containers);
  let n = 0;
  const created = async (annotations: Readonly<Record<string, string>>) => {
    const uid = `uid-${n++}`;
    const pod = { name: uid, uid, namespace: "default", annotations };
    const { tookMs, env } = await containerd.create(pod, { name: "main" });
    return { tookMs, has: env.includes("COTENANT_CLASS=high") };
  };
  const high = { "cotenant.io/class": "high" };
  const times = { without: [] as number[], other: [] as number[], high: [] as number[] };
  const take = async (
    into: number[],
    annotations: Readonly<Record<string, string>>,
    has: boolean,
  ) => {
    const one = await created(annotations);
    if (one.has !== has) throw new Error("a container has the library, or lacks it, against all");
    into.push(one.tookMs);
  };
  await created({}); // the first is slower
  while (times.without.length < count) {
    for (let i = 0; i < BLOCK; i++) await take(times.without, high, false);
    const plugin = await startPlugin(containerd);
    for (let i = 0; i < BLOCK; i++) {
      await take(times.other, {}, false);
      await take(times.high, high, true);
    }
    await plugin.stop();
  }
  const hung: number[] = [];
  for (let i = 0; i < HUNG; i++) {
    const plugin = await startPlugin(containerd);
    plugin.hang();
    await take(hung, high, false);
    await plugin.stop();
  }
  return {
    date: dateNow(),
    commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
    command: `npx tsx bench/kubernetes/inject.ts --containers ${count}`,
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg().map(rounded) },
    milliseconds: {
      ...Object.fromEntries(Object.entries(times).map(([name, all]) => [name, spreadOf(all)])),
      hung: spreadOf(hung),
    },
  };
}

function spreadOf(all: readonly number[]): object {
  const sorted = [...all].sort((a, b) => a - b);
  const at = (q: number) =>
    rounded(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN);
  return { containers: all.length, median: at(0.5), p90: at(0.9), largest: at(1) };
}

if (values.plugin !== undefined) await bePlugin(values.plugin);
else {
  const containerd = await startContainerd([]);
  try {
    console.log(JSON.stringify(await measure(containerd), null, 2));
  } finally {
    await containerd.stop();
  }
}
