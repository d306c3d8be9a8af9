// Kubernetes, Cotenant and PyTorch on the one GPU of this machine, step by step: what the node publishes of its GPU, a
// BERT service with and without a GPT-2 training beside it, deaths of all parts of the node under load, the end of the
// service, and the same two programs by time slicing. It ends at the first step that fails, and prints why.
// As root. Usage: npx tsx bench/kubernetes/one-gpu.ts OUT [--gpu soft] [--seconds 20] [--rounds 2] [--load 0.2]
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Control } from "#bench";
import { dateNow, sfc32 } from "#core";
import { realGpu, softGpu } from "../../test/kubernetes/machines/cotenant.ts";
import { type Fleet, type FleetNode, startFleet } from "../../test/kubernetes/machines/fleet.ts";
import { KEPT } from "../../test/kubernetes/machines/pods.ts";
import { causes, keepLogs } from "./one-gpu/causes.ts";
import { checkMachine, tryContainer } from "./one-gpu/check.ts";
import { type Movable, type Programs, realPrograms, softPrograms } from "./one-gpu/pods.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    gpu: { type: "string", default: "real" },
    seconds: { type: "string", default: "20" },
    rounds: { type: "string", default: "2" },
    load: { type: "string", default: "0.2" },
  },
});
const [out] = positionals;
if (out === undefined) throw new Error("Name the folder for results: one-gpu.ts OUT.");
if (values.gpu !== "soft" && values.gpu !== "real")
  throw new Error(`--gpu "${values.gpu}" is not known: write soft or real.`);
const isReal = values.gpu === "real";
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
try {
  checkMachine(values.gpu);
} catch (error) {
  console.log(`FAILED before the first step: ${(error as Error).message}`);
  process.exit(1);
}
const gpu = isReal ? realGpu() : softGpu(1);
const programs: Programs = isReal ? realPrograms(gpu) : softPrograms(gpu);

/** A wait is over before a command on a lent machine is. */
const WITHIN_S = isReal ? 120 : 300;
/** Work of the training ends within this after its service has gone. Interpreted machines are too slow for it. */
const STANDS_WITHIN_S = isReal ? 1 : Number.POSITIVE_INFINITY;
const PROGRESS_EACH_MS = 100;
/** Held work gets one chunk a second (decision 0019). Work that runs does as much in a twentieth of a second. */
const HELD_CHUNK_S = 0.02;
const STANDS_FOR_S = 2;
const SAYS_EACH_S = 30;

const nsNow = (): number => Number(process.hrtime.bigint());
const rounded = (n: number): number => Math.round(1000 * n) / 1000;
const context = {
  commit:
    process.env.COMMIT ?? execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
  command: `npx tsx bench/kubernetes/one-gpu.ts OUT --gpu ${values.gpu} --seconds ${seconds} --rounds ${rounds} --load ${values.load}`,
};

class Run {
  readonly #fleet: Fleet;
  readonly #node: FleetNode;
  readonly #control: Control;
  readonly #kept: string;
  #rate = 0;
  #windows = 0;
  #arePodsToEnd = false;

  constructor(fleet: Fleet) {
    const [node] = fleet.nodes;
    if (node === undefined) throw new Error("there is no node");
    this.#fleet = fleet;
    this.#node = node;
    this.#kept = join(fleet.cluster.folder, "kept");
    mkdirSync(this.#kept);
    chmodSync(this.#kept, 0o777);
    this.#control = new Control(this.#kept);
  }

  /** Compares what the node publishes of its GPU with what the driver says of it. */
  async gpuNode(): Promise<object> {
    type Published = { uuid: string; model: string; memoryBytes: number };
    let published: Published | undefined;
    await this.#wait("the node publishes its GPU", async () => {
      const { status } = await this.#fleet.read("gpunode", this.#node.name);
      published = (status?.gpus as readonly Published[] | undefined)?.[0];
      return published !== undefined;
    });
    if (published === undefined) throw new Error("the GPUNode has no GPU");
    if (!isReal) return published;
    const query = [
      "--query-gpu=uuid,name,memory.total,driver_version",
      "--format=csv,noheader,nounits",
    ];
    const said = execFileSync("nvidia-smi", query, { encoding: "utf8" }).trim().split(", ");
    const [uuid, model, mebibytes, driver] = said;
    const share = published.memoryBytes / (Number(mebibytes) * 2 ** 20);
    if (published.uuid !== uuid || published.model !== model || !(share > 0.9 && share <= 1))
      throw new Error(
        `the GPUNode has ${JSON.stringify(published)}, nvidia-smi ${said.join(", ")}`,
      );
    return { ...published, driver };
  }

  /** Returns the service's facts about itself. The rate of its requests is the load times what it can serve alone. */
  async service(): Promise<object> {
    this.#control.forget(["serve"]);
    const begin = nsNow();
    await this.#fleet.create(programs.service(this.#kept));
    await this.#wait("the service is ready", () => this.#control.readiness("serve") !== undefined);
    const readyS = rounded((nsNow() - begin) / 1e9);
    await this.#wait("the service is a client", () => this.#node.gpu()?.high.length === 1);
    const { serve } = await this.#window({ serve: {} }, 3);
    const capacity = serve?.donePerSecond ?? 0;
    if (!(capacity > 0)) throw new Error("the service has served no request");
    this.#rate = Number(values.load) * capacity;
    const high = this.#node.gpu()?.high[0];
    return {
      ...{ facts: this.#control.readiness("serve"), readyS, capacity: rounded(capacity) },
      ...{ rate: rounded(this.#rate), identity: high?.identity, grant: high?.grant },
    };
  }

  /** Latency of requests without and with the training, in turns, and what the training does alone and beside them. */
  async shared(): Promise<object> {
    const begin = nsNow();
    await this.#fleet.create(programs.training(this.#kept));
    await this.#wait("the training is ready", () => this.#control.readiness("train") !== undefined);
    const readyS = rounded((nsNow() - begin) / 1e9);
    const { name, memoryQuota, identity } = this.#node.gpu()?.bestEffort[0] ?? {};
    const figures = await this.#turns("train");
    const { items } = await this.#fleet.read("pairings");
    return { training: { readyS, name, memoryQuota, identity }, ...figures, pairings: items };
  }

  /** Kills each part of the node while requests arrive. Throws if a request is lost, or a program was started again. */
  async deaths(): Promise<object> {
    const parts = ["agent", "node part", "kubelet", "containerd"] as const;
    const arrivals = this.#arrivals(3 * seconds);
    const startNs = nsNow() + 5e8;
    const phase = { serve: { arrivals: arrivals.path }, train: {} };
    const id = this.#control.begin(phase, startNs, 3 * seconds);
    const backS: Record<string, number> = {};
    for (const part of parts) {
      await pause(2000);
      const begin = nsNow();
      await this.#fleet.restart(part, this.#node);
      await this.#wait(`both are clients after the death of the ${part}`, () => {
        const status = this.#node.gpu();
        return status?.high[0]?.connected === true && status.bestEffort[0]?.connected === true;
      });
      backS[part] = rounded((nsNow() - begin) / 1e9);
      const before = this.#finished();
      await this.#wait(`the training goes on after the death of the ${part}`, () => {
        return this.#finished() > before;
      });
    }
    await pause(Math.max(0, (startNs - nsNow()) / 1e6 + 3000 * seconds + 500));
    this.#control.idle();
    await this.#answers(["serve", "train"], id);
    const latency = this.#control.answer("serve", id)?.latency_ns ?? [];
    if (latency.length !== arrivals.count)
      throw new Error(`${arrivals.count} requests arrived, and ${latency.length} were served`);
    await this.#noneWasStartedAgain();
    return { requests: latency.length, latencyMs: latencies(latency), backS };
  }

  /** Deletes the service while both work: the training stands, then is evicted. */
  async end(): Promise<object> {
    const { path } = this.#arrivals(60);
    this.#control.begin({ serve: { arrivals: path }, train: {} }, nsNow() + 5e8, 60);
    await pause(3000);
    this.#arePodsToEnd = true;
    const deleted = this.#fleet.cluster.ask(["delete", "pod", "serve", "--grace-period=1"]);
    deleted.catch(() => {}); // it is awaited below
    await this.#wait("the service has left the GPU", () => this.#node.gpu()?.high.length === 0);
    const gone = nsNow();
    const { standsS, chunks } = await this.#standsSince(gone);
    const because = this.#node.gpu()?.heldBecause;
    if (standsS > STANDS_WITHIN_S)
      throw new Error(`the training still worked ${standsS} s after its service had gone`);
    await deleted;
    await this.#wait("the training is evicted", () => this.#node.gpu()?.bestEffort.length === 0);
    const evictedS = rounded((nsNow() - gone) / 1e9);
    await this.#fleet.cluster.ask(["delete", "job", "train", "--wait=true"]);
    this.#control.idle();
    await this.#wait("no pod is left", async () => {
      return (await this.#fleet.read("pods")).items.length === 0;
    });
    this.#arePodsToEnd = false;
    return { standsS, chunks, evictedS, because };
  }

  /** Waits until the training gets no more than held work does. `chunks`: GPU time that it then had a second. */
  async #standsSince(gone: number): Promise<{ readonly standsS: number; readonly chunks: number }> {
    let [from, before] = [gone, this.#finished()];
    while (nsNow() - gone < 30e9) {
      await pause(PROGRESS_EACH_MS);
      // After an eviction it is 0.
      const done = Math.max(0, this.#finished() - before);
      const now = nsNow();
      const lasted = (now - from) / 1e9;
      if (done > HELD_CHUNK_S * (1 + lasted)) [from, before] = [now, before + done];
      else if (lasted > STANDS_FOR_S)
        return { standsS: rounded((from - gone) / 1e9), chunks: rounded(done / lasted) };
    }
    throw new Error("the training still worked 30 s after its service had gone");
  }

  /** The same two programs, of which Cotenant knows the service alone: the driver's time slicing. */
  async timeSliced(): Promise<object> {
    await this.service();
    await this.#fleet.create(programs.plainTraining(this.#kept));
    await this.#wait("the training is ready", () => this.#control.readiness("plain") !== undefined);
    return await this.#turns("plain");
  }

  /** Deletes the service of two movable trainings: the one is parked within its memory limit, the other says why it can't be. */
  async parked(): Promise<object> {
    await this.#deleted("pod/plain");
    this.#control.forget(["roomy", "tight"]);
    const kinds = ["roomy", "tight"] as const;
    for (const kind of kinds) await this.#fleet.create(programs.movable(this.#kept, kind));
    await this.#wait("both trainings are ready", () =>
      kinds.every((kind) => this.#control.readiness(kind) !== undefined),
    );
    const sample = () => {
      const { bestEffort = [], reading } = this.#node.gpu() ?? {};
      const clientOf = (kind: Movable) =>
        bestEffort.find(({ name }) => name.startsWith(`${kind}-`));
      return { one: clientOf("roomy"), other: clientOf("tight"), used: reading?.memoryUsed };
    };
    const before = sample();
    this.#arePodsToEnd = true;
    await this.#fleet.cluster.ask(["delete", "pod", "serve", "--grace-period=1", "--wait=false"]);
    // Both are evicted soon, so what is seen of one is kept until the other has been seen.
    let roomy: typeof before.one;
    let tight: typeof before.other;
    let [used, resident] = [before.used, ""];
    await this.#wait("one is parked, and the other one says why it is not", () => {
      const now = sample();
      if (roomy === undefined && now.one?.memory?.state === "parked") {
        [roomy, used] = [now.one, now.used];
        resident = this.#node.machine.run("grep", ["VmRSS", `/proc/${roomy.pid}/status`]).trim();
      }
      const { reason, state } = now.other?.memory ?? {};
      if (reason !== undefined || state === "parked") tight ??= now.other;
      return roomy !== undefined && tight !== undefined;
    });
    const bytes = before.one?.memory?.bytes ?? Number.NaN;
    if (!((roomy?.memory?.parkedBytes ?? 0) >= bytes / 2))
      throw new Error(`of ${bytes} bytes are parked: ${JSON.stringify(roomy?.memory)}`);
    if (tight?.memory?.state === "parked")
      throw new Error(`the training whose limit has no room is ${JSON.stringify(tight.memory)}`);
    this.#control.quit();
    for (const kind of kinds) await this.#deleted(`job/${kind}`);
    return {
      ...{ parkedBytes: roomy?.memory?.parkedBytes, parkMs: roomy?.memory?.parkMs, resident },
      gpuMemoryUsed: [before.used, used],
      notParked: { bytes: before.other?.memory?.bytes, because: tight?.memory?.reason },
    };
  }

  async #deleted(object: string): Promise<void> {
    await this.#fleet.cluster.ask(["delete", object, "--grace-period=1", "--wait=true"]);
  }

  /** Throws if a container was started again or has ended. */
  async #noneWasStartedAgain(): Promise<void> {
    const { items } = await this.#fleet.read("pods");
    for (const { metadata, status } of items)
      for (const { restartCount, state } of status.containerStatuses ?? [])
        if (restartCount > 0 || state.running === undefined)
          throw new Error(
            `the container of the pod ${metadata.name} was started again or has ended`,
          );
  }

  async #turns(training: string): Promise<object> {
    const without: number[] = [];
    const together: number[] = [];
    const iterations: number[] = [];
    const alone = await this.#window({ [training]: {} }, seconds / 2);
    for (let round = 0; round < rounds; round++) {
      const first = await this.#window(
        { serve: { arrivals: this.#arrivals(seconds).path } },
        seconds,
      );
      without.push(...(first.serve?.latency_ns ?? []));
      const jobs = { serve: { arrivals: this.#arrivals(seconds).path }, [training]: {} };
      const second = await this.#window(jobs, seconds);
      together.push(...(second.serve?.latency_ns ?? []));
      iterations.push(second[training]?.donePerSecond ?? 0);
    }
    const aloneRate = alone[training]?.donePerSecond ?? 0;
    const rate = iterations.reduce((a, b) => a + b, 0) / iterations.length;
    return {
      latencyMs: { without: latencies(without), with: latencies(together) },
      iterationsPerSecond: { alone: rounded(aloneRate), with: iterations.map(rounded) },
      retained: rounded(rate / aloneRate),
    };
  }

  /** Lets jobs do their parts for N seconds; returns their answers. */
  async #window(
    jobs: Parameters<Control["begin"]>[0],
    lasts: number,
  ): Promise<Readonly<Record<string, Answered>>> {
    const from = nsNow() + 5e8;
    const id = this.#control.begin(jobs, from, lasts);
    await pause(1000 * lasts + 600);
    this.#control.idle();
    const names = Object.keys(jobs);
    await this.#answers(names, id);
    // A closed loop begins when the job sees the phase, and ends with what it has begun.
    const isWithin = (ns: number) => ns >= from && ns < from + 1e9 * lasts;
    return Object.fromEntries(
      names.map((name) => {
        const { latency_ns, done_ns = [] } = this.#control.answer(name, id) ?? {};
        return [name, { latency_ns, donePerSecond: done_ns.filter(isWithin).length / lasts }];
      }),
    );
  }

  #answers(names: readonly string[], id: number): Promise<void> {
    return this.#wait(`${names.join(" and ")} report`, () => {
      return names.every((name) => this.#control.answer(name, id) !== undefined);
    });
  }

  /** A file of arrivals at random, as pods find it. */
  #arrivals(lasts: number): { readonly path: string; readonly count: number } {
    const random = sfc32(++this.#windows);
    const offsets: number[] = [];
    const next = () => -Math.log(1 - random()) / this.#rate;
    for (let at = next(); at < lasts; at += next()) offsets.push(Math.round(at * 1e9));
    const name = `arrivals-${this.#windows}`;
    writeFileSync(join(this.#kept, name), `${offsets.join("\n")}\n`);
    return { path: join(KEPT, name), count: offsets.length };
  }

  #finished(): number {
    return this.#node.gpu()?.bestEffort[0]?.finishedSeconds ?? 0;
  }

  /** Throws at once if a program of the node or a container has ended. */
  async #wait(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
    const begin = nsNow();
    let said = 0;
    while (!(await holds())) {
      const waited = (nsNow() - begin) / 1e9;
      if (waited > said + SAYS_EACH_S) console.log(`  ${Math.round(waited)} s: ${what}?`);
      said = waited > said + SAYS_EACH_S ? waited : said;
      const dead = this.#node.machine.programs().find((program) => !program.running());
      if (dead !== undefined) throw new Error(`${what}: ${dead.name} has ended`);
      const items = this.#arePodsToEnd ? [] : (await this.#fleet.read("pods")).items;
      for (const { metadata, status } of items)
        if (/^(Failed|Succeeded)$/.test((status as { phase?: string }).phase ?? ""))
          throw new Error(`${what}: the pod ${metadata.name} has ended`);
      if (waited > WITHIN_S) throw new Error(`not within ${WITHIN_S} s: ${what}`);
      await pause(200);
    }
  }
}

/** An answer of a job in a window. */
interface Answered {
  readonly latency_ns: readonly number[] | undefined;
  readonly donePerSecond: number;
}

function latencies(ns: readonly number[]): object {
  const sorted = ns.map((one) => one / 1e6).sort((a, b) => a - b);
  const at = (q: number) => rounded(sorted[Math.floor(q * sorted.length)] ?? Number.NaN);
  return { requests: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1 - 1e-9) };
}

const begun = performance.now();
const passed = (): string => `${Math.round((performance.now() - begun) / 1000)} s`;
const limited = <T>(what: string, promise: Promise<T>): Promise<T> =>
  Promise.race([
    promise,
    pause(3 * WITHIN_S * 1000, undefined, { ref: false }).then(() => {
      throw new Error(`not within ${3 * WITHIN_S} s: ${what}`);
    }),
  ]);

mkdirSync(out, { recursive: true });
const stopKeeping = keepLogs(out);
let fleet: Fleet | undefined;
let step = "a trial";
try {
  console.log(`a container starts: ${tryContainer(gpu, programs)}`);
  step = "up";
  fleet = await limited(
    "the cluster is up",
    startFleet(["node-1"], "nri", () => gpu),
  );
  console.log(`up: ${passed()}`);
  const run = new Run(fleet);
  const steps: Readonly<Record<string, () => Promise<object>>> = {
    "gpu-node": () => run.gpuNode(),
    service: () => run.service(),
    shared: () => run.shared(),
    deaths: () => run.deaths(),
    end: () => run.end(),
    "time-sliced": () => run.timeSliced(),
    parked: () => run.parked(),
  };
  const results: Record<string, object> = {};
  for (const [name, take] of Object.entries(steps)) {
    step = name;
    const result = await take();
    results[name] = { load: loadavg().map(rounded), ...result };
    const machine = { cpu: cpus()[0]?.model, cores: cpus().length };
    const document = { date: dateNow(), ...context, machine, results };
    writeFileSync(join(out, "one-gpu.json"), `${JSON.stringify(document, null, 2)}\n`);
    console.log(`${name}: ${passed()}: ${JSON.stringify(result)}`);
  }
  console.log("all steps passed");
} catch (error) {
  process.exitCode = 1;
  console.log(`FAILED in the step ${step} after ${passed()}: ${(error as Error).message}`);
  console.log(await causes(out, fleet));
} finally {
  stopKeeping();
  await fleet?.stop();
}
process.exit();
