import { expect, test } from "vitest";
import { BestEffortSlot, view } from "#protocol";
import {
  MAX_IDLE_SECONDS,
  MIN_SOLO_SECONDS,
  type SampleKind,
  WARM_UP_SECONDS,
  WorkMeter,
} from "./work-meter.ts";

/** A client that is sampled four times a second. */
class Job {
  readonly slot = view(BestEffortSlot, new ArrayBuffer(BestEffortSlot.size));
  readonly #meter = new WorkMeter(this.slot);
  #now = 0;

  constructor(perS: number) {
    this.#meter.sample(this.#now, "solo");
    this.runs(WARM_UP_SECONDS, "shared", perS);
  }

  /** It submits `perS` kernels a second, each of `kernelUs`. */
  runs(seconds: number, kind: SampleKind, perS: number, kernelUs = 100): this {
    for (let i = 0; i < 4 * seconds; i++) {
      this.slot.launches += perS / 4;
      this.slot.finishedNs += (perS / 4) * kernelUs * 1000;
      this.#now += 0.25e9;
      this.#meter.sample(this.#now, kind);
    }
    return this;
  }

  measure() {
    return this.#meter.measure();
  }
}

test("work is counted by itself and shared, after the warm-up", () => {
  const { solo, shared, soloPerS, soloBusy } = new Job(9000)
    .runs(20, "solo", 400)
    .runs(10, "shared", 100)
    .measure();
  expect(solo).toEqual({ seconds: 20, submissions: 8000, kernelSeconds: expect.closeTo(0.8) });
  // With the last sample of the warm-up.
  expect(shared.seconds).toBe(10.25);
  expect(shared.submissions).toBe(1000 + 2250);
  expect(soloPerS).toBe(400);
  expect(soloBusy).toBeCloseTo(0.04);
});

test("neither contention nor lower clocks, which make kernels longer, change a unit of work", () => {
  const { solo, shared } = new Job(0.4)
    .runs(20, "solo", 400, 100)
    .runs(20, "shared", 200, 200)
    .measure();
  expect(shared.submissions / solo.submissions).toBeCloseTo(0.5, 2);
  expect(shared.kernelSeconds / solo.kernelSeconds).toBeCloseTo(1, 2);
});

test("a solo rate needs some seconds", () => {
  const job = new Job(400).runs(MIN_SOLO_SECONDS - 0.25, "solo", 400);
  expect(job.measure().soloPerS).toBeUndefined();
  expect(job.runs(0.25, "solo", 400).measure().soloPerS).toBe(400);
});

test("the solo rate is that of the latest minutes", () => {
  const job = new Job(400).runs(700, "solo", 400).runs(700, "solo", 800);
  expect(job.measure().soloPerS).toBe(800);
});

test("a short time without work counts, a long one does not", () => {
  const job = new Job(400).runs(20, "solo", 400);
  expect(job.runs(MAX_IDLE_SECONDS, "solo", 0).runs(5, "solo", 400).measure().solo.seconds).toBe(
    25 + MAX_IDLE_SECONDS,
  );
  expect(
    job
      .runs(MAX_IDLE_SECONDS + 0.25, "solo", 0)
      .runs(5, "solo", 400)
      .measure().solo.seconds,
  ).toBe(30 + MAX_IDLE_SECONDS);
});

test("a client whose queued work waits is not without work", () => {
  const job = new Job(400).runs(20, "solo", 400);
  const before = job.measure().shared.seconds;
  job.slot.waiting = 1;
  expect(job.runs(60, "shared", 0).measure().shared.seconds).toBe(before + 60);
});

test("ignored samples and counters that were written over count as nothing", () => {
  const job = new Job(400).runs(20, "solo", 400);
  const before = job.measure();
  expect(job.runs(20, "ignored", 100).measure()).toEqual(before);
  job.slot.launches = 0;
  expect(job.runs(0.25, "solo", 0).measure()).toEqual(before);
  expect(job.runs(0.25, "solo", 1e9).measure()).toEqual(before);
});
