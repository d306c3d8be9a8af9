import { describe, expect, test } from "vitest";
import { nanos } from "#core";
import { BestEffortSlot, bucketOf, HighSlot, type View, view } from "#protocol";
import { BestEffortMeter } from "./best-effort-meter.ts";
import { HighMeter } from "./high-meter.ts";

const SECOND = 1e9;

/** Ends a burst of this many microseconds, as the interposer does. */
function burst(slot: View<typeof HighSlot>, us: number, aheadUs = 0, waitedUs = us): void {
  for (const [counts, took] of [[slot.histogram, us] as const, [slot.waits, waitedUs] as const]) {
    const bucket = bucketOf(took * 1000);
    counts.set(bucket, counts.get(bucket) + 1);
  }
  slot.busyNs += us * 1000;
  slot.aheadNs += aheadUs * 1000;
  slot.aheadMaxNs = Math.max(slot.aheadMaxNs, aheadUs * 1000);
  slot.bursts += 1;
}

const highSlot = () => view(HighSlot, new ArrayBuffer(HighSlot.size));

describe("a high client", () => {
  test("that has done nothing has no quantiles, and no share", () => {
    const meter = new HighMeter(highSlot());
    expect(meter.measure()).toMatchObject({
      burstP50Us: undefined,
      burstsPerS: 0,
      activeShare: 0,
      sharedShare: 0,
      starting: false,
      aheadMeanUs: undefined,
    });
  });

  test("is measured over the window, not since it began", () => {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    for (let i = 0; i < 100; i++) burst(slot, 9000);
    meter.sample(0);
    for (let i = 0; i < 10; i++) burst(slot, 2000, 50);
    burst(slot, 4000, 150);
    meter.sample(2 * SECOND);
    const { burstP50Us, burstP99Us, ...measure } = meter.measure();
    expect(burstP50Us).toBeCloseTo(2000, -2);
    expect(burstP99Us).toBeCloseTo(4000, -2);
    expect(measure).toMatchObject({ bursts: 111, burstsPerS: 5.5, aheadMaxUs: 150 });
    expect(measure.activeShare).toBeCloseTo(0.012);
    expect(measure.aheadMeanUs).toBeCloseTo((10 * 50 + 150) / 11);
    expect(meter.sinceAttached().burstP50SinceStartUs).toBeCloseTo(9000, -2);
  });

  test("has what its bursts waited for the GPU beside how long they lasted", () => {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    burst(slot, 9000);
    meter.sample(0);
    expect(meter.waited()).toBeUndefined();
    expect(meter.measure().burstWaitP50Us).toBeUndefined();
    for (let i = 0; i < 10; i++) burst(slot, 2000, 0, 20);
    burst(slot, 2000, 0, 700);
    meter.sample(SECOND);
    const { burstP99Us, burstWaitP50Us, burstWaitP99Us } = meter.measure();
    expect(burstP99Us).toBeCloseTo(2000, -2);
    expect(burstWaitP50Us).toBeCloseTo(20, 0);
    expect(burstWaitP99Us).toBeCloseTo(700, -1);
    expect(meter.waited()?.[bucketOf(20_000)]).toBe(10);
    expect(meter.waited()?.[bucketOf(9_000_000)]).toBe(0);
    expect(meter.ended()?.[bucketOf(2_000_000)]).toBe(11);
    meter.sample(2 * SECOND);
    expect(meter.waited()).toBeUndefined();
  });

  test("counts as active in a burst that has not ended", () => {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    meter.sample(0);
    slot.busySince = nanos(SECOND);
    meter.sample(2 * SECOND);
    expect(meter.measure().activeShare).toBe(0.5);
  });

  test("that did not hold best-effort work for a part of its burst shared for that long", () => {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    meter.sample(0);
    slot.sharedNs = SECOND / 2;
    meter.sample(2 * SECOND);
    expect(meter.measure().sharedShare).toBe(0.25);
  });

  test("is forgotten by the window after seventeen samples", () => {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    meter.sample(0);
    burst(slot, 1000, 70);
    for (let i = 1; i <= 17; i++) meter.sample((i * SECOND) / 4);
    expect(meter.measure()).toMatchObject({ burstP50Us: undefined, burstsPerS: 0, bursts: 1 });
  });

  test("has the bursts since the last sample by duration, and none when none ended", () => {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    burst(slot, 100);
    meter.sample(0);
    expect(meter.ended()).toBeUndefined();
    burst(slot, 9000);
    meter.sample(1);
    expect(meter.ended()?.[bucketOf(9_000_000)]).toBe(1);
    expect(meter.ended()?.[bucketOf(100_000)]).toBe(0);
    meter.sample(2);
    expect(meter.ended()).toBeUndefined();
  });

  test("has its histograms copied only when a burst has ended since", () => {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    let copies = 0;
    const { histogram } = slot;
    const copy = histogram.copy.bind(histogram);
    histogram.copy = () => {
      copies++;
      return copy();
    };
    for (let i = 0; i < 10; i++) meter.sample(i);
    burst(slot, 100);
    for (let i = 10; i < 20; i++) meter.sample(i);
    expect(copies).toBe(2);
  });
});

describe("a high client's figures", () => {
  test("have each counter under its own name", () => {
    const slot = highSlot();
    const counters = {
      launches: 2,
      copies: 3,
      timeouts: 4,
      tailWrites: 5,
      unhooked: 6,
      caveats: 7,
    };
    Object.assign(slot, counters, { busyNs: 8 * SECOND });
    expect(new HighMeter(slot).measure()).toMatchObject({ ...counters, busySeconds: 8 });
  });

  test("have the kernels and graphs since the last sample, once there are two", () => {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    expect(meter.launched()).toBeUndefined();
    slot.launches = 10;
    meter.sample(0);
    expect(meter.launched()).toBeUndefined();
    slot.launches = 17;
    meter.sample(SECOND);
    slot.launches = 20;
    meter.sample(2 * SECOND);
    expect(meter.launched()).toBe(3);
  });

  test("have the largest queued-ahead work of the window, which each sample asks for anew", () => {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    expect(meter.measure().aheadMaxUs).toBe(0);
    slot.aheadMaxNs = 90_000;
    meter.sample(0);
    expect(slot.aheadMaxNs).toBe(0);
    slot.aheadMaxNs = 20_000;
    for (let i = 1; i <= 16; i++) meter.sample((i * SECOND) / 4);
    expect(meter.measure().aheadMaxUs).toBe(90);
    meter.sample((17 * SECOND) / 4);
    expect(meter.measure().aheadMaxUs).toBe(20);
  });

  test("are nothing, not noise, where two samples are of one moment or no burst was ever seen", () => {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    expect(meter.sinceAttached().burstP50SinceStartUs).toBeUndefined();
    meter.sample(SECOND);
    expect(meter.sinceAttached().burstP50SinceStartUs).toBeUndefined();
    slot.sharedNs = 5;
    meter.sample(SECOND);
    expect(meter.measure()).toMatchObject({ burstsPerS: 0, activeShare: 0, sharedShare: 0 });
  });

  test("know a burst that began after the sample as no time of this one", () => {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    meter.sample(0);
    slot.busySince = nanos(3 * SECOND);
    meter.sample(2 * SECOND);
    expect(meter.measure().activeShare).toBe(0);
  });
});

describe("noise in a high client's counters", () => {
  function measured() {
    const slot = highSlot();
    const meter = new HighMeter(slot);
    const look = (at: number) => {
      for (let i = 0; i < 10; i++) burst(slot, 2000, 50);
      meter.sample(at * SECOND);
    };
    for (let at = 0; at < 3; at++) look(at);
    return { slot, meter, look };
  }

  test("is not taken for bursts, and what was seen before it is forgotten", () => {
    const { slot, meter, look } = measured();
    slot.histogram.set(bucketOf(90_000_000), 500);
    look(3);
    expect(meter.ended()).toBeUndefined();
    expect(meter.waited()).toBeUndefined();
    expect(meter.launched()).toBeUndefined();
    expect(meter.measure()).toMatchObject({
      implausible: 1,
      burstP99Us: undefined,
      burstsPerS: 0,
      activeShare: 0,
    });
  });

  test("leaves what follows it believed, quantiles since the client attached included", () => {
    const { slot, meter, look } = measured();
    slot.histogram.set(bucketOf(90_000_000), 500);
    look(3);
    look(4);
    expect(meter.ended()?.[bucketOf(2_000_000)]).toBe(10);
    const { burstP99Us, implausible, burstsPerS } = meter.measure();
    expect([implausible, burstsPerS]).toEqual([1, 10]);
    expect(burstP99Us).toBeCloseTo(2000, -2);
    expect(meter.sinceAttached().burstP99SinceStartUs).toBeCloseTo(2000, -2);
  });

  test("makes no share of the time larger than all of it, or less than none", () => {
    const { slot, meter } = measured();
    slot.busySince = nanos(1);
    meter.sample(4 * SECOND);
    expect(meter.measure().activeShare).toBe(1);
    slot.busySince = nanos(0);
    meter.sample(5 * SECOND);
    expect(meter.measure().activeShare).toBeGreaterThanOrEqual(0);
  });

  test("is none where a burst lasted from one sample to many later", () => {
    const { slot, meter, look } = measured();
    for (let at = 3; at < 60; at++) meter.sample(at * SECOND);
    burst(slot, 57 * 1e6);
    meter.sample(60 * SECOND);
    look(61);
    expect(meter.measure().implausible).toBe(0);
    burst(slot, 30 * 1e6);
    meter.sample(62 * SECOND);
    expect(meter.measure().implausible).toBe(1);
  });
});

describe("a best-effort client", () => {
  test("has each counter under its own name", () => {
    const slot = view(BestEffortSlot, new ArrayBuffer(BestEffortSlot.size));
    const counters = {
      launches: 1,
      graphs: 2,
      copies: 3,
      chunks: 4,
      trickles: 5,
      longKernels: 6,
      unknownLaunches: 7,
      splitProducts: 8,
      unhooked: 9,
      caveats: 10,
      memoryUsed: 11,
      memoryQuota: 12,
      memoryRefusals: 13,
    };
    Object.assign(slot, counters, {
      minProgress: counters.trickles,
      longestNs: 14_000,
      releasedNs: 15_000,
      variants: 16,
      preemptible: 17,
      graphGates: 18,
      wholeGraphs: 19,
      submittedNs: 25 * SECOND,
      finishedNs: 20 * SECOND,
      heldNs: 21 * SECOND,
      cappedNs: 22 * SECOND,
      turnNs: 23 * SECOND,
      emptyNs: 24 * SECOND,
      gangRanks: 25,
      commits: 26,
      commitTimeouts: 27,
      commitProgress: 28,
    });
    expect(new BestEffortMeter(slot).measure()).toEqual({
      ...counters,
      gang: { ranks: 25, commits: 26, timeouts: 27, progress: 28 },
      longestKernelUs: 14,
      aheadUs: 15,
      preemptible: { variants: 16, launches: 17 },
      graphGates: { places: 18, wholeGraphs: 19 },
      submittedSeconds: 25,
      finishedSeconds: 20,
      heldSeconds: 21,
      cappedSeconds: 22,
      turnSeconds: 23,
      emptySeconds: 24,
      gpuShare: 0,
      heldShare: 0,
      cappedShare: 0,
      turnShare: 0,
      emptyShare: 0,
    });
  });

  test("that was not looked at yet ran if it has something out, and not otherwise", () => {
    const slot = view(BestEffortSlot, new ArrayBuffer(BestEffortSlot.size));
    const meter = new BestEffortMeter(slot);
    expect(meter.ran()).toBe(false);
    meter.sample(0);
    expect(meter.ran()).toBe(false);
    slot.releasedNs = 1;
    expect(meter.ran()).toBe(true);
  });

  test("whose counters were written over has lost no time and used none", () => {
    const slot = view(BestEffortSlot, new ArrayBuffer(BestEffortSlot.size));
    const meter = new BestEffortMeter(slot);
    slot.finishedNs = 5 * SECOND;
    slot.heldNs = 5 * SECOND;
    meter.sample(0);
    slot.finishedNs = 0;
    slot.heldNs = 0;
    meter.sample(SECOND);
    expect(meter.measure()).toMatchObject({ gpuShare: 0, heldShare: 0 });
  });

  test("ran when it finished something, or has something out", () => {
    const slot = view(BestEffortSlot, new ArrayBuffer(BestEffortSlot.size));
    const meter = new BestEffortMeter(slot);
    meter.sample(0);
    meter.sample(1);
    expect(meter.ran()).toBe(false);
    slot.releasedNs = 1;
    expect(meter.ran()).toBe(true);
    slot.releasedNs = 0;
    slot.finishedNs = 1;
    meter.sample(2);
    expect(meter.ran()).toBe(true);
    meter.sample(3);
    expect(meter.ran()).toBe(false);
  });

  test("has its window split into finished work and the reasons it was not running", () => {
    const slot = view(BestEffortSlot, new ArrayBuffer(BestEffortSlot.size));
    const meter = new BestEffortMeter(slot);
    slot.finishedNs = 5 * SECOND;
    meter.sample(0);
    slot.finishedNs = 6 * SECOND;
    slot.heldNs = 0.5 * SECOND;
    slot.turnNs = 0.25 * SECOND;
    slot.emptyNs = 0.25 * SECOND;
    slot.releasedNs = 180_000;
    meter.sample(2 * SECOND);
    expect(meter.measure()).toMatchObject({
      gpuShare: 0.5,
      heldShare: 0.25,
      cappedShare: 0,
      turnShare: 0.125,
      emptyShare: 0.125,
      aheadUs: 180,
      finishedSeconds: 6,
    });
  });
});
