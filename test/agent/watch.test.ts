// What a policy is told of co-location, and what a status says of a GPU: a sensor of our own beside real shared memory.
import { expect, onTestFinished, test } from "vitest";
import type { GpuReading } from "#agent";
import { type Applicant, createRegion, ServedGpu, startTimeOf, Watch } from "#agent";
import { type Bytes, ms } from "#core";
import { type Policy, policyNamed } from "#policy";
import { HandClock } from "./fakes.ts";

const identity = { uuid: new Uint8Array(16), name: "as the client says", smCount: 4 };

const applicant = (kind: Applicant["class"]): Applicant => ({
  class: kind,
  pid: process.pid,
  startTime: startTimeOf(process.pid) ?? 0,
  name: kind,
  memoryQuota: 0,
  sloP99Us: 0,
  sloSlowdownPermille: 0,
  soloUs: 0,
  gpuSharePermille: 0,
  training: false,
  identity: undefined,
  grant: undefined,
});

function watched(...kinds: Applicant["class"][]) {
  const gpu = new ServedGpu(identity, createRegion(identity, 1));
  onTestFinished(() => gpu.region.close());
  for (const kind of kinds) gpu.take(applicant(kind), 0);
  let reading: GpuReading = {
    uuid: gpu.uuid,
    name: "as the driver says",
    fault: undefined,
    memoryTotal: 10 as Bytes,
    memoryUsed: 5 as Bytes,
    utilisation: undefined,
    memoryUtilisation: undefined,
    smClockMHz: undefined,
    powerW: undefined,
    processes: [{ pid: process.pid, memory: 5 as Bytes }],
  };
  const shown: (boolean | undefined)[] = [];
  const policy: Policy = {
    ...policyNamed("strict"),
    remember({ colocated }) {
      shown.push(colocated);
      return { level: 0, pausedUntilMs: undefined, clients: new Map() };
    },
  };
  const clock = new HandClock();
  const sensor = { read: () => [reading], knows: () => true };
  const watch = new Watch({ isolated: true, policy, overrides: {}, sensor, clock });
  const { high, bestEffort } = gpu.region.memory;
  return {
    watch,
    gpu,
    high: high[0],
    bestEffort: bestEffort[0],
    read: (change: Partial<GpuReading>) => {
      reading = { ...reading, ...change };
      watch.readSensor();
    },
    colocated: () => {
      clock.advance(ms(250));
      watch.lookAndDecide([gpu]);
      return shown.at(-1);
    },
  };
}

test("a high client is co-located while best-effort work finishes or is out", () => {
  const { colocated, bestEffort } = watched("high", "best-effort");
  if (!bestEffort) throw new Error("no slot");
  expect(colocated()).toBe(false);
  bestEffort.finishedNs = 5;
  expect([colocated(), colocated()]).toEqual([true, false]);
  bestEffort.releasedNs = 1;
  expect(colocated()).toBe(true);
});

test("that best-effort work stands still is not believed where the driver sees the GPU busy with more than requests", () => {
  const { colocated, high, read } = watched("high", "best-effort");
  if (!high) throw new Error("no slot");
  read({ utilisation: 0.4 });
  expect(colocated()).toBe(false);
  read({ utilisation: 0.5 });
  expect([colocated(), colocated()]).toEqual([undefined, undefined]);
  high.busySince = 1; // a request all the time
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
  expect(watch.status([gpu])).toMatchObject([
    { name: "as the driver says", reading: { memoryUsed: 5, fault: undefined }, strangers: [] },
  ]);
  read({ uuid: "GPU-other", fault: "GPU is lost", memoryUsed: undefined });
  expect(watch.status([gpu])).toMatchObject([
    {
      uuid: "GPU-other",
      served: undefined,
      recommended: undefined,
      reading: { fault: "GPU is lost", memoryUsed: undefined },
      high: [],
      strangers: [],
    },
    { uuid: gpu.uuid, name: "as the client says", reading: undefined, high: [{ name: "high" }] },
  ]);
  expect(watch.clientsOfOthers([gpu])).toEqual([]);
});

test("a client that claims more memory than its GPU has is shown with the GPU's", () => {
  const { watch, gpu, bestEffort, read } = watched("best-effort");
  const shown = () => watch.status([gpu])[0]?.bestEffort[0]?.memoryUsed;
  read({});
  if (!bestEffort) throw new Error("a best-effort client");
  bestEffort.memoryUsed = 7;
  expect(shown()).toBe(7);
  bestEffort.memoryUsed = 2 ** 50;
  expect(shown()).toBe(10);
});
