import { expect, onTestFinished, test } from "vitest";
import { nanos } from "#core";
import { parkStates } from "#protocol";
import { defaultApplicant, ServedGpu } from "../gpus/gpu.ts";
import { Meters } from "../meters/meters.ts";
import { Units } from "../meters/units.ts";
import { PairMeters } from "./pair-meters.ts";
import { WARM_UP_SECONDS } from "./work-meter.ts";

const SAMPLE_NS = 0.25e9;

/** A service and two jobs, of which the first one's work is measured. */
function pair() {
  const gpu = new ServedGpu({ uuid: new Uint8Array(16), name: "GPU", smCount: 4 }, 1);
  onTestFinished(() => gpu.close());
  const [service, job, other] = (["high", "best-effort", "best-effort"] as const).map(
    (kind, pid) => {
      const own = { class: kind, pid: pid + 1, startTime: 1, name: kind };
      const taken = gpu.take({ ...defaultApplicant, ...own }, nanos(0));
      if (!taken) throw new Error("there is no slot");
      return taken;
    },
  );
  if (!service || !job || !other) throw new Error("there are three clients");
  const { high, bestEffort } = gpu.region.memory;
  const slots = {
    service: high[service.slot],
    job: bestEffort[job.slot],
    other: bestEffort[other.slot],
  };
  const meters = new Meters();
  const pairs = new PairMeters(meters, new Units(meters));
  let at = 0;
  const sample = (paused: "no" | "forShare" | "apart") => {
    if (slots.job) slots.job.launches += 10;
    at += SAMPLE_NS;
    for (const client of gpu.clients) meters.sample(gpu, client, at);
    pairs.sample(gpu, { at, high: [], concurrent: true, paused });
  };
  for (let i = 0; i < 4 * WARM_UP_SECONDS; i++) sample("no");
  return {
    ...slots,
    /** Seconds that a sample adds to either kind. */
    adds(paused: "no" | "forShare" | "apart" = "no") {
      const before = pairs.work(job);
      sample(paused);
      const now = pairs.work(job);
      return {
        solo: (now?.solo.seconds ?? 0) - (before?.solo.seconds ?? 0),
        shared: (now?.shared.seconds ?? 0) - (before?.shared.seconds ?? 0),
      };
    },
  };
}

const solo = { solo: 0.25, shared: 0 };
const shared = { solo: 0, shared: 0.25 };
const neither = { solo: 0, shared: 0 };

test("a job that nobody disturbs has the GPU by itself", () => {
  expect(pair().adds()).toEqual(solo);
});

test("a burst, also one that has not ended, is another's work, and only while it lasts", () => {
  const { service, adds } = pair();
  if (service) service.busySince = nanos(1);
  expect(adds()).toEqual(shared);
  // It ends within the next sample.
  if (service) [service.busySince, service.busyNs] = [nanos(0), (WARM_UP_SECONDS + 0.3) * 1e9];
  expect(adds()).toEqual(shared);
  expect(adds()).toEqual(solo);
});

test("so is work of another job, and a wait of its own", () => {
  const { job, other, adds } = pair();
  if (other) other.finishedNs += 1e6;
  expect(adds()).toEqual(shared);
  expect(adds()).toEqual(solo);
  if (job) job.heldNs += 1e6;
  expect(adds()).toEqual(shared);
});

test("a pause of the policy is a cost of sharing, and one for another reason is none", () => {
  const { adds } = pair();
  expect(adds("forShare")).toEqual(shared);
  expect(adds("apart")).toEqual(neither);
});

test("a job whose memory is parked is not measured", () => {
  const { job, adds } = pair();
  if (job) job.memory.parkState = parkStates.parked;
  expect(adds()).toEqual(neither);
});
