// The policy's input about co-location, and the status of a GPU: a sensor of our own beside real shared memory.
import { spawn } from "node:child_process";
import { describe, expect, onTestFinished, test } from "vitest";
import type { GpuReading } from "#agent";
import { type Applicant, ServedGpu, SharedRegion, Watch } from "#agent";
import { type Bytes, ms, nanos, us } from "#core";
import { type Policy, parseObjective, policyNamed } from "#policy";
import { bucketOf } from "#protocol";
import { applicant } from "./example.ts";
import { HandClock } from "./fakes.ts";

type Look = Parameters<NonNullable<Policy["remember"]>>[0];

const identity = { uuid: new Uint8Array(16), name: "as the client says", smCount: 4 };

type Wanted = Applicant["class"] | Parameters<typeof applicant>[0];

function watched(...clients: readonly Wanted[]) {
  const gpu = new ServedGpu(identity, 1);
  onTestFinished(() => gpu.close());
  for (const one of clients)
    gpu.take(applicant(typeof one === "string" ? { class: one } : one), nanos(0));
  let reading: GpuReading = {
    uuid: gpu.uuid,
    name: "as the driver says",
    error: undefined,
    memoryTotal: 10 as Bytes,
    memoryUsed: 5 as Bytes,
    utilisation: undefined,
    memoryUtilisation: undefined,
    smClockMHz: undefined,
    powerW: undefined,
    processes: [{ pid: process.pid, memory: 5 as Bytes }],
    mpsProcesses: [],
  };
  let use: ReadonlyMap<number, number> | undefined;
  let pausedUntilMs: number | undefined;
  const shown: Look[] = [];
  const strict = policyNamed("strict");
  /** Everything is met, on the level of how often it has looked. */
  const policy: Policy = {
    ...strict,
    rules: (seen, memory) => ({
      ...strict.rules(seen),
      submitLaunches: 100 + (memory?.level ?? 0),
    }),
    remember(look, memory) {
      shown.push(look);
      const met = look.high.map(({ id }) => [id, { state: "met" }] as const);
      const level = (memory?.level ?? 0) + 1;
      return { level, pausedUntilMs, clients: new Map(met) };
    },
  };
  const clock = new HandClock();
  const sensor = {
    read: () => [reading],
    vitals: () => [],
    use: () => use,
    free: () => undefined,
    knows: () => true,
  };
  const overrides = { progressEveryUs: us(12_345) };
  const shares = new Map<string, { readonly share: number; readonly from: string }>();
  const askedShare = (_: string, pod: string) => shares.get(pod);
  const watch = new Watch({
    ...{ tenants: true, isolated: true, policy, overrides, sensor, clock, askedShare },
  });
  const { high, bestEffort } = gpu.region.memory;
  let ignored: ReturnType<typeof watch.lookAndDecide> = [];
  const look = () => {
    clock.advance(ms(250));
    ignored = watch.lookAndDecide([gpu]);
    return shown.at(-1);
  };
  return {
    watch,
    gpu,
    shares,
    high: high[0],
    bestEffort: bestEffort[0],
    read: (change: Partial<GpuReading>) => {
      reading = { ...reading, ...change };
      watch.readSensor();
    },
    look,
    /** By the driver, since the beginning. */
    used: (ns: number) => {
      use = new Map([[process.pid, ns]]);
    },
    ignored: () => ignored,
    clock,
    colocated: () => look()?.colocated,
    /** The policy pauses best-effort work until then, to learn. */
    pauseUntil: (ms: number | undefined) => {
      pausedUntilMs = ms;
    },
    jobs: () => look()?.jobs,
  };
}

test("while the policy pauses best-effort work to sample a service solo, its GPU's status says so", () => {
  const { watch, gpu, look, pauseUntil } = watched("high", "best-effort");
  const sampling = () => {
    look();
    return watch.statuses.of([gpu])[0]?.samplingSolo;
  };
  expect(sampling()).toBe(false);
  pauseUntil(10_000);
  expect(sampling()).toBe(true);
  pauseUntil(undefined);
  expect(sampling()).toBe(false);
});

test("of several pods' shares the smallest bounds the GPU, and who has none has no say", () => {
  const of = (pod: string) => ({
    class: "best-effort" as const,
    identity: { pid: 1, pod } as Applicant["identity"],
  });
  const { watch, gpu, shares, look } = watched("high", of("a"), of("b"), of("c"));
  const status = () => {
    look();
    return watch.statuses.of([gpu])[0];
  };
  expect(status()?.shareBound).toBe(undefined);
  shares.set("a", { share: 0.4, from: "one" }).set("b", { share: 0.2, from: "another" });
  // The policy here lets nothing run concurrently with requests anyway.
  expect(status()?.shareBound).toEqual({ share: 0.2, from: "another", effect: "within" });
  expect(status()?.bestEffort.map(({ givenShare }) => givenShare?.share)).toEqual([
    ...[0.4, 0.2, undefined],
  ]);
  shares.delete("b");
  expect(status()?.shareBound?.share).toBe(0.4);
});

test("a high client is co-located while best-effort work finishes or is out", () => {
  const { colocated, bestEffort } = watched("high", "best-effort");
  if (!bestEffort) throw new Error("no slot");
  expect(colocated()).toBe(false);
  bestEffort.finishedNs = 5;
  expect([colocated(), colocated()]).toEqual([true, false]);
  bestEffort.releasedNs = 1;
  expect(colocated()).toBe(true);
});

test("the policy is told which best-effort clients worked, or waited", () => {
  const { jobs, bestEffort } = watched("high", "best-effort");
  if (!bestEffort) throw new Error("no slot");
  expect(jobs()).toEqual([]);
  bestEffort.finishedNs = 5;
  const [one, ...others] = jobs() ?? [];
  expect(one).toBeTypeOf("string");
  expect(others).toEqual([]);
  expect(jobs()).toEqual([]);
  bestEffort.heldNs = 5e6;
  expect(jobs()).toEqual([one]);
});

test("that best-effort work stands still is not believed where the driver sees the GPU busy with more than requests", () => {
  const { colocated, high, read } = watched("high", "best-effort");
  if (!high) throw new Error("no slot");
  read({ utilisation: 0.4 });
  expect(colocated()).toBe(false);
  read({ utilisation: 0.5 });
  expect([colocated(), colocated()]).toEqual([undefined, undefined]);
  high.busySince = nanos(1); // a request all the time
  for (let i = 0; i < 8; i++) colocated();
  expect(colocated()).toBe(false);
});

test("without a best-effort client nobody is co-located, whatever the driver sees", () => {
  const { colocated, read } = watched("high");
  read({ utilisation: 1 });
  expect([colocated(), colocated()]).toEqual([false, false]);
});

test("a status has a GPU's figures by the driver, its name by the driver first, and only others as strangers", () => {
  const { watch, gpu, read } = watched("high");
  expect(watch.statuses.of([gpu])).toMatchObject([
    { name: "as the driver says", reading: { memoryUsed: 5, error: undefined }, strangers: [] },
  ]);
  read({ uuid: "GPU-other", error: "GPU is lost", memoryUsed: undefined });
  expect(watch.statuses.of([gpu])).toMatchObject([
    {
      uuid: "GPU-other",
      served: undefined,
      recommended: undefined,
      reading: { error: "GPU is lost", memoryUsed: undefined },
      high: [],
      strangers: [],
    },
    { uuid: gpu.uuid, name: "as the client says", reading: undefined, high: [{ name: "high" }] },
  ]);
  expect(watch.clientsOfOthers([gpu])).toEqual([]);
});

test("a client of another agent, on a GPU of this machine, is found with its agent and its GPU", () => {
  const { watch, gpu, read } = watched();
  const theirs = new SharedRegion(identity, process.ppid);
  onTestFinished(() => theirs.close());
  const client = spawn("sleep", ["600"], { stdio: ["ignore", "ignore", "ignore", theirs.fd] });
  const plain = spawn("sleep", ["600"], { stdio: "ignore" });
  onTestFinished(() => void [client, plain].map((child) => child.kill()));
  const [pid = 0, other = 0] = [client.pid, plain.pid];
  read({ processes: [pid, other].map((one) => ({ pid: one, memory: 3 as Bytes })) });
  const stranger = { pid, name: "sleep", memory: 3, agentPid: process.ppid };
  expect(watch.clientsOfOthers([gpu])).toMatchObject([{ ...stranger, gpu: gpu.uuid }]);
  expect(watch.statuses.of([gpu])[0]?.strangers).toMatchObject([stranger, { pid: other }]);
});

describe("a policy is told of a high client", () => {
  const told = (change: Partial<Applicant>) =>
    watched({ class: "high", ...change }).look()?.high[0];

  test("what it asks for, of which either part may be missing", () => {
    const objective = (...texts: string[]) => told({ objective: parseObjective(texts) })?.objective;
    expect(objective("p99=10ms", "slowdown=5%")).toEqual({ p99Us: 10_000, slowdown: 0.05 });
    expect(objective("p99=10ms")).toEqual({ p99Us: 10_000, slowdown: undefined });
    expect(objective("slowdown=5%")).toEqual({ p99Us: undefined, slowdown: 0.05 });
    expect(told({ objective: undefined })?.objective).toBeUndefined();
  });

  test("what its profile says, and nothing where it has none", () => {
    const profile = { soloUs: 5000, gpuSharePermille: 250, training: true };
    expect(told(profile)).toMatchObject({ soloUs: 5000, gpuShare: 0.25, training: true });
    expect(told({ ...profile, soloUs: 0, gpuSharePermille: 0 })).toMatchObject({
      soloUs: undefined,
      gpuShare: undefined,
      training: undefined,
    });
  });

  test("its name, what it has done since, and when", () => {
    const { look, high } = watched({ class: "high", name: "serve" });
    const first = look();
    if (!high) throw new Error("no slot");
    for (const counts of [high.histogram, high.waits]) counts.set(bucketOf(3_300_000), 20);
    high.bursts = 20;
    high.launches = 40;
    const second = look();
    expect(second?.high).toMatchObject([{ name: "serve", launches: 40 }]);
    expect(second?.high[0]?.burstP50Us).toBeCloseTo(3300, -3);
    expect(second?.high[0]?.ended?.[bucketOf(3_300_000)]).toBe(20);
    expect((second?.nowMs ?? 0) - (first?.nowMs ?? 0)).toBe(250);
    expect(second).toMatchObject({ isolated: true, smCount: 4 });
  });
});

test("clients of one name are distinguished", () => {
  const { look } = watched("high", "high");
  const ids = look()?.high.map(({ id }) => id) ?? [];
  expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
});

test("rules follow from what the policy remembers, and what was set by hand goes over them", () => {
  const { look, gpu, watch } = watched("high");
  const { settings } = gpu.region.memory;
  watch.writeRules(gpu);
  expect(settings).toMatchObject({ submitLaunches: 100, progressEveryUs: 12_345 });
  look();
  look();
  expect(settings).toMatchObject({ submitLaunches: 102, progressEveryUs: 12_345 });
  expect(watch.statuses.of([gpu])[0]?.served).toMatchObject({
    smCount: 4,
    rules: { submitLaunches: 102, progressEveryUs: 12_345, trickleEveryUs: 12_345, protect: 1 },
  });
});

test("how an objective fares is shown once the policy knows, and only for a client that has one", () => {
  const { look, gpu, watch } = watched(
    { class: "high", objective: parseObjective(["p99=10ms"]) },
    "high",
  );
  const shown = () => watch.statuses.of([gpu])[0]?.high.map(({ objective }) => objective);
  expect(shown()).toEqual([undefined, undefined]);
  look();
  look();
  expect(shown()).toEqual([{ state: "met", level: 2 }, undefined]);
  expect(watch.statuses.of([gpu])[0]?.high).toMatchObject([
    { sloP99Us: 10_000, sloSlowdown: undefined },
    { sloP99Us: undefined, sloSlowdown: undefined },
  ]);
});

test("a client that attached since the last sample is shown, and how its objective fares is not known yet", () => {
  const { look, gpu, watch } = watched();
  look();
  gpu.take(applicant({ class: "high", objective: parseObjective(["p99=10ms"]) }), nanos(0));
  expect(watch.statuses.of([gpu])[0]?.high).toMatchObject([
    { sloP99Us: 10_000, objective: undefined },
  ]);
});

test("a mode is recommended where there are clients of both classes", () => {
  const service = { class: "high", name: "serve", soloUs: 1000 } as const;
  const recommended = (...clients: readonly Wanted[]) => {
    const { watch, gpu } = watched(...clients);
    return watch.statuses.of([gpu])[0]?.recommended;
  };
  expect(recommended(service)).toBeUndefined();
  expect(recommended("best-effort")).toBeUndefined();
  expect(recommended(service, "best-effort")).toEqual({
    mode: "mps",
    reason: expect.stringContaining("serve"),
  });
});

test("of a GPU that the driver does not list, utilisation says nothing, and neither does another GPU's", () => {
  const { colocated, read } = watched("high", "best-effort");
  read({ uuid: "GPU-other", utilisation: 1 });
  expect(colocated()).toBe(false);
});

test("a GPU without clients is shown with the driver's figures and nothing else", () => {
  const { watch } = watched();
  expect(watch.statuses.of([])).toMatchObject([
    { high: [], bestEffort: [], served: undefined, recommended: undefined },
  ]);
});

test("a client that claims more memory than its GPU has is shown with the GPU's", () => {
  const { watch, gpu, bestEffort, read } = watched("best-effort");
  const shown = () => watch.statuses.of([gpu])[0]?.bestEffort[0]?.memoryUsed;
  read({});
  if (!bestEffort) throw new Error("a best-effort client");
  bestEffort.memoryUsed = 7;
  expect(shown()).toBe(7);
  bestEffort.memoryUsed = 2 ** 50;
  expect(shown()).toBe(10);
  read({ memoryTotal: undefined });
  expect(shown()).toBe(2 ** 50);
});

describe("a best-effort client that the driver sees running while a request holds it", () => {
  /** Requests all the time. For each sample, a quarter of a second, which part of it the client's kernels ran. */
  function held(runs: (paused: boolean) => number, looks: number) {
    const setting = watched("high", "best-effort");
    const { high, bestEffort, gpu, look, used, ignored, watch, clock } = setting;
    if (!high || !bestEffort) throw new Error("no slot");
    const { settings, holds } = gpu.region.memory;
    high.busySince = nanos(clock.now() + 1);
    const seen: { readonly paused: boolean; readonly word: number; readonly ignored: number }[] =
      [];
    let ns = 0;
    used(0);
    for (let i = 0; i < looks; i++) {
      ns += runs(settings.paused === 1) * 250e6;
      used(ns);
      look();
      const [page] = holds;
      seen.push({
        paused: settings.paused === 1,
        word: page?.word ?? -1,
        ignored: ignored().length,
      });
      if (page) page.word = 0;
    }
    return { seen, hold: watch.statuses.of([gpu])[0]?.bestEffort[0]?.hold, settings };
  }

  test("and in a pause too has ignored its hold, which is told within ten seconds", () => {
    const { seen, hold } = held(() => 0.5, 40);
    expect(seen.some(({ ignored }) => ignored === 1)).toBe(true);
    expect(hold).toMatchObject({ trials: 1, ignored: 1, usedShare: 0.5, openShare: 0 });
  });

  test("but not in a pause has not: its kernels are long, or the driver took its samples unluckily", () => {
    const { seen, hold, settings } = held((paused) => (paused ? 0 : 0.5), 40);
    expect(seen.every(({ ignored }) => ignored === 0)).toBe(true);
    expect(hold).toMatchObject({ trials: 1, ignored: 0 });
    expect(settings).toMatchObject({ paused: 0, progressEveryUs: 12_345 });
  });

  test("stands still in the pause: its hold is closed, and there is no minimum progress", () => {
    const { seen } = held((paused) => (paused ? 0 : 0.5), 40);
    const pause = seen.filter(({ paused }) => paused);
    expect(pause).toHaveLength(6);
    expect(pause.every(({ word }) => word === 1)).toBe(true);
  });

  test("is paused ever more rarely where it heeds its hold", () => {
    const { hold } = held((paused) => (paused ? 0 : 0.5), 4 * 600);
    expect(hold?.trials).toBe(6);
  });

  test("for no longer than chunks and minimum progress need is not paused", () => {
    const { seen, hold } = held(() => 0.05, 4 * 60);
    expect(seen.every(({ paused }) => !paused)).toBe(true);
    expect(hold).toMatchObject({ trials: 0, ignored: 0 });
  });
});

test("the GPU memory of a client of either class is what the driver says of its process, also under MPS", () => {
  const { watch, gpu, read } = watched("high", "best-effort");
  const memories = () => {
    const [status] = watch.statuses.of([gpu]);
    return [...(status?.high ?? []), ...(status?.bestEffort ?? [])].map((one) => one.gpuMemory);
  };
  expect(memories()).toEqual([5, 5]);
  const { pid } = process;
  read({ processes: [], mpsProcesses: [{ pid, memory: 7 as Bytes }] });
  expect(memories()).toEqual([7, 7]);
  read({ mpsProcesses: [{ pid, memory: undefined }] });
  expect(memories()).toEqual([undefined, undefined]);
  read({ mpsProcesses: [{ pid: pid + 1, memory: 7 as Bytes }] });
  expect(memories()).toEqual([undefined, undefined]);
});
