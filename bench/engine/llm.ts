// An LLM engine beside a training: what users of the engine get and what the training keeps, at several rates of
// requests. For each arrangement and rate, windows alone and co-located take turns in one process of the engine:
//   npx tsx bench/engine/llm.ts --arrangement time-slicing --arrangement cotenant-isolated --rate 2 --rate 4 > out.json
// `--times ttft.p99=2` states the objective twice the p99 that the engine alone had at that rate, in the first
// arrangement. `--solo once` measures it alone in the first arrangement only. Requests of the first `--learn` seconds beside
// the training do not count under a policy that learns. `--training-alone N`: its iterations a second alone; if it is not
// given, those that the first native arrangement has while the engine is idle. `--training-profile`: its kernels, for policies
// that decide by them. A rate such as steps:20s@0.6,30s@2.6 is a load that changes, and closed:16 a closed loop.
// `cotenant load-llm` sends the requests; its options come after `--`.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Arrangement, arrangementNamed, Control, Places } from "#bench";
import { softGpuFolder } from "#core";
import { commitOf, JobProcess } from "#measure";

interface Quantiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** The part of `cotenant load-llm`'s JSON that is used. */
interface Load {
  readonly ttftMs: Quantiles;
  readonly tpotMs: Quantiles;
  readonly itlMs: Quantiles;
  readonly requestsPerS: number;
  readonly tokensPerS: number;
  readonly goodputPerS: number | undefined;
  readonly requests: number;
  readonly windows: readonly { readonly fromS: number; readonly violates: readonly string[] }[];
}

const { values: given, positionals: loadOptions } = parseArgs({
  allowPositionals: true,
  options: {
    arrangement: { type: "string", multiple: true, default: ["time-slicing"] },
    rate: { type: "string", multiple: true, default: ["2"] },
    server: { type: "string", default: "python3 workloads/llm_server.py --model llama-3.1-8b" },
    training: { type: "string", default: "python3 workloads/train.py --model bert-large" },
    times: { type: "string", multiple: true, default: [] },
    seconds: { type: "string", default: "20" },
    rounds: { type: "string", default: "1" },
    learn: { type: "string", default: "0" },
    solo: { type: "string", default: "each" },
    slo: { type: "string", multiple: true, default: [] },
    "training-alone": { type: "string" },
    "training-profile": { type: "string" },
    each: { type: "string" },
    gpu: { type: "string", default: "auto" },
  },
});

const seconds = Number(given.seconds);
const trainingProfile = given["training-profile"] && resolve(given["training-profile"]);
const WARM_UP_S = 3;
const PORT = 8123;
const cotenant = [process.execPath, resolve("bin/cotenant")];
const directory = mkdtempSync(join(tmpdir(), "cotenant-llm-"));
if (given.each) mkdirSync(given.each, { recursive: true });
const say = (line: string) => console.error(line);

const places = new Places({
  directory,
  gpu: given.gpu === "soft" ? "soft" : "nvidia",
  uuid: undefined,
  cotenant,
  softGpuFolder,
  uid: process.getuid?.() ?? 0,
});

/** The training's solo speed, natively. Under an agent it may be held, and pays for preemption points. */
let trainingAlonePerS = given["training-alone"] && Number(given["training-alone"]);

/** In ms, by rate and objective. */
const alone = new Map<string, Load>();

function objectivesAt(rate: string): readonly string[] {
  if (given.slo.length > 0) return given.slo;
  const load = alone.get(rate);
  if (!load) return [];
  return given.times.map((text) => {
    const [, kind = "", factor = ""] = /^(\w+)\.p99=([\d.]+)$/.exec(text) ?? [];
    const ms = (kind === "ttft" ? load.ttftMs.p99 : load.tpotMs.p99) * Number(factor);
    return `${kind}.p99=${ms.toFixed(2)}ms`;
  });
}

const run = (env: NodeJS.ProcessEnv, ...words: readonly string[]) =>
  new Promise<string>((done, failed) => {
    const [command = "", ...args] = [...cotenant, ...words];
    execFile(command, args, { env, maxBuffer: 1 << 26 }, (error, out, err) =>
      error ? failed(new Error(`${words.join(" ")}: ${err}`)) : done(out),
    );
  });

interface Sending {
  readonly rate: string;
  readonly warmUpS: number;
  readonly slo: readonly string[];
  /** Into which file each request is written, in the folder of `--each`. */
  readonly each?: string;
}

function arrivalsOf(rate: string): readonly string[] {
  if (rate.startsWith("closed:"))
    return ["--arrivals", "closed", "--depth", rate.slice("closed:".length)];
  return rate.startsWith("steps:") ? ["--arrivals", rate] : ["--rate", rate];
}

async function sendLoad({ rate, warmUpS, slo, each }: Sending): Promise<Load> {
  const out = await run(
    process.env,
    ...["load-llm", "--url", `http://127.0.0.1:${PORT}`, ...arrivalsOf(rate)],
    ...(rate.startsWith("steps:") ? [] : ["--seconds", `${seconds}`]),
    ...["--warm-up", "0", "--omit", `${warmUpS}`, "--json", ...loadOptions],
    ...(given.each && each ? ["--each", join(given.each, each)] : []),
    ...slo.flatMap((one) => ["--slo", one]),
  );
  return JSON.parse(out) as Load;
}

async function untilServes(server: JobProcess): Promise<void> {
  for (;;) {
    server.check();
    const answer = await fetch(`http://127.0.0.1:${PORT}/health`).catch(() => undefined);
    if (answer?.ok) return;
    await pause(200);
  }
}

/** Iterations a second between two moments of CLOCK_MONOTONIC in ns; undefined without an iteration in them. */
function iterationsPerS(doneNs: readonly number[], fromNs: number, toNs: number) {
  const within = doneNs.filter((ns) => ns >= fromNs && ns < toNs);
  const [first = 0, last = 0] = [within[0], within.at(-1)];
  return within.length < 2
    ? within.length / ((toNs - fromNs) / 1e9)
    : ((within.length - 1) / (last - first)) * 1e9;
}

const now = () => Number(process.hrtime.bigint());

/** `stated`: what the engine asks of an agent. Without an agent requests are compared with the same objectives. */
async function measure(
  arrangement: Arrangement,
  rates: readonly string[],
  stated: readonly string[],
) {
  const place = await places.open(arrangement.place);
  const folder = mkdtempSync(join(directory, "control-"));
  mkdirSync(folder, { recursive: true });
  const control = new Control(folder);
  control.idle();
  const metrics = `http://127.0.0.1:${PORT}/metrics`;
  const server = new JobProcess(
    "llm",
    [
      ...place
        .prefix("high", "llm", { slo: stated, profile: undefined })
        .flatMap((word) =>
          word === "--" && stated.length > 0 ? ["--slo-metrics", metrics, "--"] : [word],
        ),
      ...[...given.server.split(" "), "--port", `${PORT}`],
    ],
    places.environment(place, {}),
    folder,
  );
  const training = new JobProcess(
    "training",
    [
      ...place.prefix("best-effort", "training", { slo: [], profile: trainingProfile }),
      ...[...given.training.split(" "), "--control", folder, "--name", "training"],
    ],
    places.environment(place, arrangement.bestEffortEnv),
    folder,
  );
  for (const job of [server, training]) jobs.add(job);
  const env = { ...process.env, ...place.env };
  const learns = arrangement.place.kind === "cotenant" && arrangement.place.policy === "cotenant";
  const status = async () =>
    arrangement.place.kind === "cotenant"
      ? JSON.parse(await run(env, "status", "--json"))
      : undefined;
  /** The training works while `work` lasts; its iterations a second between two seconds of that time. */
  const beside = async <T>(fromS: number, toS: number, work: () => Promise<T>) => {
    const begin = now();
    const id = control.begin({ training: {} }, begin, 3600);
    const result = await work();
    control.idle();
    const answer = await training.until(() => control.answer("training", id), 120, "done");
    return {
      result,
      perS: iterationsPerS(answer.done_ns ?? [], begin + fromS * 1e9, begin + toS * 1e9),
    };
  };
  /** Samples the agent every two seconds while `work` lasts. */
  const watched = async <T>(work: Promise<T>) => {
    const seen: unknown[] = [];
    let done = false;
    const watch = async () => {
      for (const begin = now(); !done; await pause(2000)) {
        const { gpus } = (await status().catch(() => undefined)) ?? {};
        const { served, high, bestEffort } = gpus?.[0] ?? {};
        const { coRunEveryUs, coRunUntilUs, coRunUntilLaunches, chunkUs } = served?.rules ?? {};
        seen.push({
          atS: (now() - begin) / 1e9,
          rules: { coRunEveryUs, coRunUntilUs, coRunUntilLaunches, chunkUs },
          objective: high?.[0]?.objective,
          requests: high?.[0]?.requests?.kinds,
          activeShare: high?.[0]?.activeShare,
          gpuShare: bestEffort?.[0]?.gpuShare,
          heldShare: bestEffort?.[0]?.heldShare,
        });
      }
    };
    const watching = arrangement.place.kind === "cotenant" ? watch() : undefined;
    const result = await work;
    done = true;
    await watching;
    return { result, seen };
  };
  const rows = [];
  try {
    const begun = performance.now();
    await untilServes(server);
    const servesAfterS = (performance.now() - begun) / 1000;
    await training.until(() => control.readiness("training"), 300, "ready");
    say(`${arrangement.name}: the engine serves after ${servesAfterS.toFixed(1)} s`);
    for (const rate of rates) {
      const warmUpS = learns ? Math.max(WARM_UP_S, Number(given.learn)) : WARM_UP_S;
      for (let round = 0; round < Number(given.rounds); round++) {
        const slo = objectivesAt(rate);
        const each = `${arrangement.name}-${rate}-${round}`.replaceAll(/[^\w.-]+/g, "_");
        const isKnown = given.slo.length > 0 || (given.solo === "once" && alone.has(rate));
        const solo = isKnown
          ? alone.get(rate)
          : await sendLoad({ rate, warmUpS: WARM_UP_S, slo, each: `${each}-solo` });
        if (solo && !alone.has(rate)) alone.set(rate, solo);
        const {
          result: { result, seen },
          perS,
        } = await beside(warmUpS + 1, warmUpS + seconds, () =>
          watched(sendLoad({ rate, warmUpS, slo: objectivesAt(rate), each })),
        );
        const statusBeside = await status();
        // Last, since an engine that has just begun may hold the training though it does nothing.
        const idle = await beside(1, 4, () => pause(4000));
        if (arrangement.place.kind === "native") trainingAlonePerS ||= idle.perS;
        const kept = trainingAlonePerS ? perS / trainingAlonePerS : undefined;
        rows.push({
          arrangement: arrangement.name,
          rate,
          round,
          slo: objectivesAt(rate),
          servesAfterS,
          kept,
          trainingPerS: perS,
          trainingAlonePerS,
          trainingBesideIdlePerS: idle.perS,
          solo,
          shared: result,
          seen,
          status: statusBeside,
        });
        const ms = (of: Quantiles | undefined) =>
          of ? `${of.p50.toFixed(1)} ${of.p99.toFixed(1)}` : "?";
        const violated = result.windows.filter(({ violates }) => violates.length > 0);
        say(
          [
            `${arrangement.name} rate ${rate}: ttft ${ms(solo?.ttftMs)} -> ${ms(result.ttftMs)},`,
            `tpot ${ms(solo?.tpotMs)} -> ${ms(result.tpotMs)} (p50 p99 ms), training kept ${kept?.toFixed(2) ?? `an unknown part, ${perS.toFixed(2)} a second`};`,
            `${solo?.requestsPerS.toFixed(2)} -> ${result.requestsPerS.toFixed(2)} requests/s, objectives ${objectivesAt(rate).join(" ")},`,
            `violated in ${violated.length} of ${result.windows.length} windows`,
          ].join(" "),
        );
      }
    }
  } catch (error) {
    say(`${arrangement.name} failed: ${error instanceof Error ? error.message : error}`);
    rows.push({ arrangement: arrangement.name, failed: `${error}` });
  } finally {
    control.quit();
    server.kill("SIGTERM");
    await Promise.all([server.end(), training.end()]);
    jobs.clear();
  }
  return rows;
}

/** Also ended when this process is told to end: an engine that stays holds its memory of the GPU. */
const jobs = new Set<JobProcess>();
process.once("exit", () => {
  for (const job of jobs) job.kill();
});
const rows: Awaited<ReturnType<typeof measure>> = [];
function printRows(endedBy?: string) {
  const command = process.argv.slice(2).join(" ");
  const commit = commitOf(".");
  console.log(JSON.stringify({ script: "bench/engine/llm.ts", commit, command, endedBy, rows }));
}
// Results so far are written, because they take minutes of a GPU to measure again.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => {
    printRows(signal);
    process.exit(1);
  });

try {
  for (const name of given.arrangement) {
    const arrangement = arrangementNamed(name);
    // The objective differs by rate and is said when the engine starts.
    const { place } = arrangement;
    const apart =
      given.times.length + given.slo.length > 0 &&
      place.kind === "cotenant" &&
      place.policy === "cotenant";
    const groups = apart ? given.rate.map((rate) => [rate]) : [given.rate];
    for (const rates of groups)
      rows.push(...(await measure(arrangement, rates, apart ? objectivesAt(rates[0] ?? "") : [])));
  }
} finally {
  await places.close();
  rmSync(directory, { recursive: true, force: true });
}
printRows();
