import { expect, test } from "vitest";
import { mulberry32 } from "#core";
import { bucketCount, bucketOf } from "#protocol";
import { LatencyMeter, MIN_LATENCIES } from "./latency-meter.ts";

/** A service that is sampled four times a second. */
class Service {
  readonly meter = new LatencyMeter();
  #at = 0;

  /** `perS` bursts end a second, of durations in us. */
  serves(
    seconds: number,
    perS: number,
    durationUs: () => number,
    concurrent: boolean | undefined,
    sharers = "a",
  ): this {
    for (let i = 0; i < 4 * seconds; i++) {
      const durations = new Uint32Array(bucketCount);
      for (let n = 0; n < perS / 4; n++) {
        const bucket = bucketOf(1000 * durationUs());
        durations[bucket] = (durations[bucket] ?? 0) + 1;
      }
      this.#at += 0.25e9;
      this.meter.add({ at: this.#at, unit: "burst", durations, concurrent, sharers });
    }
    return this;
  }
}

test("p50 and p99 are those of both kinds of samples", () => {
  const random = mulberry32(1);
  const tail = (usual: number, rare: number) => () => (random() < 0.97 ? usual : rare);
  const { meter } = new Service()
    .serves(60, 40, tail(1000, 2000), false)
    .serves(60, 40, tail(1100, 9000), true);
  const measured = meter.measure();
  expect(measured?.solo.p50Us).toBeCloseTo(1000, -1);
  expect(measured?.solo.p99Us).toBeCloseTo(2000, -2);
  expect(measured?.shared.p50Us).toBeCloseTo(1100, -1);
  expect(measured?.shared.p99Us).toBeCloseTo(9000, -2);
  expect(measured?.perS).toBeCloseTo(40, -1);
});

test("a service that is slower under load is compared at the same load", () => {
  // Batches are longer the more requests there are. Best-effort work makes all of them longer by a half.
  const low = () => 1000;
  const high = () => 4000;
  const { meter } = new Service()
    .serves(300, 8, low, false)
    .serves(30, 80, high, false)
    .serves(10, 8, () => 1.5 * low(), true)
    .serves(60, 80, () => 1.5 * high(), true);
  const { solo, shared } = meter.measure() ?? {};
  for (const quantile of ["p50Us", "p99Us"] as const)
    expect((shared?.[quantile] ?? 0) / (solo?.[quantile] ?? 0)).toBeCloseTo(1.5, 1);
});

test("nothing is said of loads at which the service never was by itself", () => {
  const service = new Service().serves(60, 8, () => 1000, false);
  expect(service.serves(60, 80, () => 1000, true).meter.measure()).toBeUndefined();
});

test("few samples are none", () => {
  const service = new Service().serves(60, 8, () => 1000, false).serves(1, 8, () => 1000, true);
  expect(service.meter.measure()).toBeUndefined();
  service.serves(MIN_LATENCIES / 8, 8, () => 1000, true);
  expect(service.meter.measure()?.shared.samples).toBeGreaterThanOrEqual(MIN_LATENCIES);
});

test("other best-effort clients make another pair, and the service's solo samples stay", () => {
  const service = new Service()
    .serves(60, 8, () => 1000, false)
    .serves(60, 8, () => 3000, true, "a")
    .serves(60, 8, () => 2000, true, "b");
  const { solo, shared } = service.meter.measure() ?? {};
  expect(shared?.p50Us).toBeCloseTo(2000, -2);
  expect(solo?.p50Us).toBeCloseTo(1000, -2);
});

test("samples that are neither do not count", () => {
  const service = new Service().serves(60, 8, () => 1000, false).serves(60, 8, () => 1200, true);
  const before = service.meter.measure();
  expect(service.serves(60, 8, () => 9000, undefined).meter.measure()).toEqual(before);
});
