// The price that a service in a pod pays for a best-effort pod on its GPU: the latency of its requests in windows
// without and with the other, in turns, in a cluster of real kubelet and containerd, on the software GPU or, with `--gpu
// real`, on that of the machine. As root. Usage: npx tsx bench/kubernetes/beside.ts [--seconds 20] [--rounds 3] [--gpu real]
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { dateNow } from "#core";
import { parseMarks, type Served } from "#load";
import { service, training } from "../../test/e2e/faults.ts";
import { realGpu } from "../../test/kubernetes/machines/cotenant.ts";
import { type Fleet, startFleet } from "../../test/kubernetes/machines/fleet.ts";
import { KEPT, loadPod } from "../../test/kubernetes/machines/pods.ts";
import * as made from "../../test/kubernetes/pods.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "20" },
    rounds: { type: "string", default: "3" },
    gpu: { type: "string", default: "soft" },
  },
});
const seconds = Number(values.seconds);
if (values.gpu !== "soft" && values.gpu !== "real")
  throw new Error(`--gpu "${values.gpu}" is not known: say soft or real.`);
const nsNow = (): number => Number(process.hrtime.bigint());

async function measure(fleet: Fleet): Promise<object> {
  const [node] = fleet.nodes;
  if (node === undefined) throw new Error("there is no node");
  const kept = join(fleet.cluster.folder, "kept");
  mkdirSync(kept);
  chmodSync(kept, 0o777);
  const words = [...service, "--marks", join(KEPT, "marks")];
  await fleet.create(made.asObject(loadPod(made.high(), 1000, words, kept)));
  await fleet.eventually("the service is a client", () => node.gpu()?.high.length === 1);
  const windows: { readonly beside: boolean; readonly from: number; readonly to: number }[] = [];
  const work: number[] = [];
  const window = async (beside: boolean) => {
    const done = () => node.gpu()?.bestEffort[0]?.finishedSeconds ?? 0;
    const [from, before] = [nsNow(), done()];
    await pause(1000 * seconds);
    if (beside) work.push((done() - before) / ((nsNow() - from) / 1e9));
    windows.push({ beside, from, to: nsNow() });
  };
  await pause(5000);
  for (let round = 0; round < Number(values.rounds); round++) {
    await window(false);
    const job = made.jobOf(loadPod(made.bestEffort(), 2000, training), `train-${round}`);
    await fleet.create(job);
    await fleet.eventually("the training runs", () => {
      return (node.gpu()?.bestEffort[0]?.finishedSeconds ?? 0) > 0;
    });
    await window(true);
    await fleet.cluster.ask(["delete", "job", `train-${round}`, "--wait=true"]);
    await fleet.eventually("it has left", () => node.gpu()?.bestEffort.length === 0);
  }
  // Only the shell of the smallest systems has it.
  node.machine.run("sh", ["-c", 'kill "$0"', String(node.gpu()?.high[0]?.pid)]);
  await fleet.cluster.ask([
    ...["wait", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=120s", "pod/serve"],
  ]);
  const served = parseMarks(readFileSync(join(kept, "marks"), "utf8"));
  const of = (beside: boolean) =>
    latencies(
      served.filter(({ arrival }) =>
        windows.some((one) => one.beside === beside && arrival >= one.from && arrival < one.to),
      ),
    );
  return {
    date: dateNow(),
    commit:
      process.env.COMMIT ?? execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
    command: `npx tsx bench/kubernetes/beside.ts --seconds ${seconds} --rounds ${values.rounds} --gpu ${values.gpu}`,
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg().map(rounded) },
    milliseconds: { without: of(false), with: of(true) },
    bestEffortGpuSecondsASecond: work.map(rounded),
    nodePartMB: nodePartMegabytes(fleet.cluster.server),
  };
}

/** Memory of the node part, its own and shared. */
function nodePartMegabytes(server: string): number | undefined {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const text = (file: string) => {
      try {
        return readFileSync(join("/proc", pid, file), "utf8");
      } catch {
        return ""; // it has ended
      }
    };
    const words = text("cmdline").split("\0");
    const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(text("status")) ?? [];
    if (/node$/.test(words[0] ?? "") && words.includes("offer-gpus") && words.includes(server))
      return Math.round((Number(kibibytes) * 1024) / 1e6);
  }
  return undefined;
}

const rounded = (n: number): number => Math.round(1000 * n) / 1000;

function latencies(served: readonly Served[]): object {
  const sorted = served.map(({ arrival, done }) => (done - arrival) / 1e6).sort((a, b) => a - b);
  const at = (q: number) => rounded(sorted[Math.floor(q * sorted.length)] ?? Number.NaN);
  return { requests: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

const fleet = await startFleet(
  ["node-1"],
  "webhook",
  values.gpu === "real" ? () => realGpu() : undefined,
);
try {
  console.log(JSON.stringify(await measure(fleet), null, 2));
} finally {
  await fleet.stop();
}
