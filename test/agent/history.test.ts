// The agent's memory of a day with as many clients as there are slots, of a size that is known in advance.
import { expect, onTestFinished, test } from "vitest";
import { type BestEffortStatus, type HighStatus, History, ServedGpu, Watch } from "#agent";
import { ms, nanos } from "#core";
import { policyNamed } from "#policy";
import { bucketOf, constants } from "#protocol";
import { applicant } from "./example.ts";
import { blindSensor, HandClock } from "./fakes.ts";

/** GPUs with this many clients each, a meter and a history, on a clock that is turned by hand. */
function remembered(...counts: readonly (readonly [high: number, bestEffort: number])[]) {
  const clock = new HandClock();
  const gpus = counts.map(([high, bestEffort], i) => {
    const uuid = Uint8Array.from({ length: 16 }, () => i + 1);
    const gpu = new ServedGpu({ uuid, name: "GPU", smCount: 4 }, 1);
    onTestFinished(() => gpu.close());
    for (let n = 0; n < high; n++)
      gpu.take(applicant({ class: "high", name: `serve${n}` }), nanos(0));
    for (let n = 0; n < bestEffort; n++)
      gpu.take(applicant({ class: "best-effort", name: `train${n}` }), nanos(0));
    return gpu;
  });
  const watch = new Watch({
    tenants: false,
    isolated: true,
    policy: policyNamed("strict"),
    overrides: {},
    sensor: blindSensor,
    clock,
  });
  const history = new History(watch.meters, clock.now());
  const look = (period = ms(250)) => {
    clock.advance(period);
    watch.lookAndDecide(gpus);
    history.note(gpus, clock.now());
  };
  look();
  return { clock, gpus, watch, history, look };
}

/** In the memory of the first GPU, as its clients write it. */
function slotsOf({ region }: ServedGpu) {
  const [high] = region.memory.high;
  const [bestEffort] = region.memory.bestEffort;
  if (!high || !bestEffort) throw new Error("no slot");
  return { high, bestEffort };
}

test("shares of time are what the counters say, by the second and by the minute", () => {
  const { clock, gpus, history, look } = remembered([1, 1]);
  const [gpu] = gpus;
  if (!gpu) throw new Error("no GPU");
  const { high, bestEffort } = slotsOf(gpu);
  for (let i = 0; i < 4 * 120; i++) {
    high.busyNs += 50e6;
    bestEffort.finishedNs += 150e6;
    bestEffort.heldNs += 75e6;
    look();
  }
  for (const resolution of ["second", "minute"] as const) {
    const stretch = history.stretch(gpu.uuid, resolution, clock.now(), 1);
    expect(stretch?.means.service[0]).toBeCloseTo(0.2, 4);
    expect(stretch?.means.bestEffort[0]).toBeCloseTo(0.6, 4);
    expect(stretch?.means.held[0]).toBeCloseTo(0.1, 4);
  }
  expect(history.recovered(gpu.uuid, 0)).toBeCloseTo(0.6 * 120, 2);
  expect(history.stretch("GPU-never", "second", clock.now())).toBeUndefined();
});

test("the worst bursts of a client are kept with what was queued ahead of them", () => {
  const { clock, gpus, history, look } = remembered([1, 1]);
  const [gpu] = gpus;
  const [client] = gpu?.clients ?? [];
  if (!gpu || !client) throw new Error("no client");
  const { high } = slotsOf(gpu);
  const end = (us: number, waitedUs: number, aheadUs: number) => {
    high.histogram.set(bucketOf(us * 1000), 1);
    high.waits.set(bucketOf(waitedUs * 1000), 1);
    high.bursts += 1;
    high.busyNs += us * 1000;
    high.aheadMaxNs = aheadUs * 1000;
    look();
  };
  end(5000, 4000, 0);
  const told: number[] = [];
  const stop = history.listen((uuid, { aheadUs }) => {
    if (uuid === gpu.uuid) told.push(aheadUs);
  });
  end(9000, 2000, 700);
  stop();
  end(1000, 500, 300);
  expect(told).toEqual([700]);
  const worst = history.worst(client, clock.now());
  expect(worst.map(({ aheadUs, aheadSlot }) => [aheadUs, aheadSlot])).toEqual([
    [700, 0],
    [0, undefined],
    [300, 0],
  ]);
  expect(worst.map(({ lastedUs }) => Math.round(lastedUs / 1000))).toEqual([9, 5, 1]);
  expect(worst.map(({ waitedUs }) => Math.round(waitedUs / 1000))).toEqual([2, 4, 1]);
});

test("what a client writes is forced into range", () => {
  const { clock, gpus, history, look } = remembered([1, 1]);
  const [gpu] = gpus;
  const [client] = gpu?.clients ?? [];
  if (!gpu || !client) throw new Error("no client");
  const { high, bestEffort } = slotsOf(gpu);
  for (let i = 0; i < 40; i++) {
    const extreme = i % 2 === 0 ? 2 ** 53 : 0;
    Object.assign(bestEffort, { finishedNs: extreme, heldNs: 2 ** 53 - extreme });
    Object.assign(high, { aheadMaxNs: 2 ** 53, busyNs: extreme, bursts: i });
    high.histogram.set(3000, i);
    look();
  }
  const { means } = history.stretch(gpu.uuid, "second", clock.now()) ?? {};
  for (const values of Object.values(means ?? {}))
    for (const value of values)
      expect(value === null || (value >= 0 && value <= 1), String(value)).toBe(true);
  for (const { lastedUs, waitedUs, aheadUs } of history.worst(client, clock.now()))
    expect([lastedUs <= 70e6, waitedUs <= lastedUs, aheadUs <= 10e6]).toEqual([true, true, true]);
});

test("a day with 200 clients takes as much memory as a few minutes with them, and less than 2 MB", () => {
  const { MAX_HIGH, MAX_BEST_EFFORT } = constants;
  const { clock, gpus, watch, history, look } = remembered(
    [MAX_HIGH, MAX_BEST_EFFORT],
    [MAX_HIGH, MAX_BEST_EFFORT],
    [40, 0],
  );
  const clients = gpus.flatMap((gpu) => gpu.clients);
  expect(clients.length).toBe(200);
  const minutes = (count: number, services: number) => {
    for (let minute = 0; minute < count; minute++) {
      for (const { region } of gpus)
        for (const slot of region.memory.high.slice(0, services)) {
          slot.histogram.set(1280, slot.bursts + 1);
          slot.waits.set(1280, slot.bursts + 1);
          slot.bursts += 1;
          slot.busyNs += 1e6;
        }
      look(ms(60_000));
    }
  };
  minutes(3, 40);
  const soon = history.bytes(clients);
  minutes(24 * 60, 1);
  expect(history.bytes(clients)).toBe(soon);
  const perGpu = (900 + 1440) * (8 + 4 + 4 * 4);
  const perService = 15 * 10 * 7 * 8;
  expect(soon).toBe(3 * perGpu + 120 * perService);
  expect(soon).toBeLessThan(2e6);
  const day = history.stretch(gpus[0]?.uuid ?? "", "minute", clock.now());
  expect(day?.means.service.length).toBe(1439);
  const shown: readonly (HighStatus | BestEffortStatus)[] = watch.statuses
    .of(gpus)
    .flatMap((gpu) => [...gpu.high, ...gpu.bestEffort]);
  expect(shown.length).toBe(200);
});

test("GPUs that nobody uses any more are forgotten when there are too many", () => {
  const counts = Array.from({ length: 33 }, () => [1, 0] as const);
  const { clock, gpus, history } = remembered(...counts);
  const known = gpus.map(({ uuid }) => history.stretch(uuid, "minute", clock.now()) !== undefined);
  expect(known).toEqual([false, ...Array(32).fill(true)]);
});
