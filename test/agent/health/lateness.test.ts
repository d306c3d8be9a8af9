// SysMonitor's reading `lateness`, from the counters of clients in real shared memory.
import { expect, onTestFinished, test } from "vitest";
import { type Applicant, ServedGpu, Watch } from "#agent";
import { ms, nanos } from "#core";
import { type Policy, policyNamed } from "#policy";
import { bucketOf } from "#protocol";
import { applicant } from "../example.ts";
import { blindSensor, HandClock } from "../fakes.ts";

const identity = { uuid: new Uint8Array(16), name: "soft", smCount: 4 };

/** A service whose solo p99 is 5 ms, and a best-effort client. */
function served(service: Partial<Applicant> = {}) {
  const gpu = new ServedGpu(identity, 1);
  onTestFinished(() => gpu.close());
  gpu.take(applicant({ class: "high", ...service }), nanos(0));
  const training = gpu.take(applicant({ class: "best-effort" }), nanos(0));
  const [high] = gpu.region.memory.high;
  const [bestEffort] = gpu.region.memory.bestEffort;
  if (!high || !bestEffort || !training) throw new Error("no slot");
  const reference = { p99Us: 5000, waitedP99Us: 5000 };
  const policy: Policy = {
    ...policyNamed("strict"),
    remember: (look) => ({
      level: 0,
      pausedUntilMs: undefined,
      clients: new Map(look.high.map(({ id }) => [id, { state: "learning", reference } as const])),
    }),
  };
  const clock = new HandClock();
  const watch = new Watch({
    ...{ tenants: false, isolated: true, policy, overrides: {}, sensor: blindSensor, clock },
  });
  const sample = () => {
    clock.advance(ms(250));
    watch.lookAndDecide([gpu]);
    return watch.lateness(gpu.uuid);
  };
  sample();
  return {
    /** A quarter of a second with this many bursts, in which best-effort work runs or not. */
    bursts(count: number, burstMs: number, runs: "runs" | "stands still") {
      const bucket = bucketOf(burstMs * 1e6);
      for (const counts of [high.histogram, high.waits])
        counts.set(bucket, (counts.get(bucket) ?? 0) + count);
      high.bursts += count;
      if (runs === "runs") bestEffort.finishedNs += 1e6;
      return sample();
    },
    leave: () => gpu.release(training, nanos(0)),
    sample,
    withoutGpus() {
      watch.lookAndDecide([]);
      return watch.lateness(gpu.uuid);
    },
  };
}

test("a service whose bursts take ever longer solo is not late", () => {
  const { bursts } = served();
  for (let look = 0; look < 100; look++)
    expect(bursts(1, 5 + 10 * look, "stands still")).toBe(undefined);
});

test("one whose bursts are longer than solo while best-effort work runs is, until none runs any more", () => {
  const { bursts, leave, sample } = served();
  expect(bursts(8, 15, "runs")).toBe(undefined);
  for (let look = 0; look < 14; look++) bursts(8, 15, "runs");
  expect(bursts(8, 15, "runs")).toBeCloseTo(2, 1);
  leave();
  for (let look = 0; look < 20; look++) sample();
  expect(sample()).toBe(undefined);
});

test("a GPU that no client has any more has no reading", () => {
  const { bursts, withoutGpus } = served();
  for (let look = 0; look < 16; look++) bursts(8, 15, "runs");
  expect(bursts(8, 15, "runs")).toBeGreaterThan(1);
  expect(withoutGpus()).toBe(undefined);
});
