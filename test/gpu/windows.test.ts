// Whole windows on the modelled GPU: what each arrangement must keep to.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { arrangementNamed, gatedBy, runWindow, type WindowPlan } from "#gpu";
import { allPolicies } from "#policies";
import { policyNamed } from "#policy";
import { h200, type KernelShape, workload } from "./example.ts";
import { arrivals, rate, serviceUs } from "./quantiles.ts";

const gpu = h200();
const of = (count: number, shape: KernelShape) => Array.from({ length: count }, () => shape);
const request = workload("request", of(50, { us: 49 }), { kind: "inference" });
const training = workload("training", of(100, { us: 20 }));
const high = { profile: request, submission: "graph", arrivalsNs: arrivals(2, 4, 12) } as const;
const bestEffort = [{ profile: training, submission: "kernels" }] as const;
const window = (name: string, more: Partial<WindowPlan> = {}) =>
  runWindow({ arrangement: arrangementNamed(name), high, bestEffort, seconds: 2, gpu, ...more });

const names = [
  "solo",
  "alone",
  "time-slicing",
  "mps",
  "mps-priority",
  "mps-30",
  "streams",
  "temporal",
  "floor",
  "floor-mps",
  ...allPolicies
    .filter(({ onlyModelled }) => onlyModelled === undefined)
    .flatMap(({ name }) => [`${name}-isolated`, `${name}-mps`]),
];

describe.each(names)("%s", (name) => {
  test("serves each request that arrives, in time and order", () => {
    const { requests, startNs, settledNs, endNs } = window(name, { seconds: 1 });
    const expected = high.arrivalsNs
      .map((ns) => startNs + ns)
      .filter((ns) => ns >= settledNs && ns < endNs);
    expect(requests.map(({ arrivalNs }) => arrivalNs)).toEqual(name === "alone" ? [] : expected);
    for (const { latencyNs, serviceNs } of requests) {
      expect(serviceNs).toBeGreaterThan(2.4e6);
      expect(latencyNs).toBeGreaterThanOrEqual(serviceNs);
    }
  });

  test("sees the iteration that is under way at its end through", () => {
    const { doneNs, endNs } = window(name, { seconds: 1 });
    for (const done of doneNs) expect(done.at(-1)).toBeGreaterThan(endNs);
  });

  test("is the same each time", () => {
    expect(window(name, { seconds: 0.2 })).toEqual(window(name, { seconds: 0.2 }));
  });
});

test("another seed is another run, where kernels vary", () => {
  const varying = {
    ...training,
    kernels: training.kernels.map((kernel) => ({
      ...kernel,
      durationNs: { p50: 20_000, p95: 26_000 },
    })),
  };
  const jobs = [{ profile: varying, submission: "kernels" }] as const;
  const run = (seed: number) => window("alone", { bestEffort: jobs, seed, seconds: 0.5 }).doneNs;
  expect(run(1)).toEqual(run(1));
  expect(run(1)).not.toEqual(run(2));
  // The spread leaves the mean where it is.
  expect(rate(window("alone", { bestEffort: jobs }))).toBeCloseTo(500, -1);
});

test("alone, a job takes what its profile says, within 1 %", () => {
  const shapes = fc.array(
    fc.record({ us: fc.integer({ min: 1, max: 200 }), sms: fc.integer({ min: 1, max: 2000 }) }),
    { minLength: 5, maxLength: 50 },
  );
  fc.assert(
    fc.property(shapes, fc.integer({ min: 100, max: 20_000 }), (kernels, soloUs) => {
      const times = { soloNs: soloUs * 1000 };
      const inference = workload("inference", kernels, { kind: "inference", ...times });
      for (const submission of ["graph", "kernels"] as const) {
        const solo = window("solo", { high: { profile: inference, submission }, seconds: 0.3 });
        expect(serviceUs(solo, 0.5) / soloUs).toBeCloseTo(1, 2);
      }
      const jobs = [
        { profile: workload("training", kernels, times), submission: "kernels" },
      ] as const;
      const { doneNs } = window("alone", { bestEffort: jobs, seconds: 0.5 });
      const done = doneNs[0] ?? [];
      const each = ((done.at(-1) ?? 0) - (done[0] ?? 0)) / (done.length - 1);
      expect(each / 1000 / soloUs).toBeCloseTo(1, 2);
    }),
    { numRuns: 20 },
  );
});

test("a launch-bound request leaves the GPU idle between its kernels", () => {
  const eager = workload("eager", of(100, { us: 5, gapUs: 20 }), { kind: "inference" });
  const solo = window("solo", { high: { profile: eager, submission: "kernels" } });
  expect(serviceUs(solo, 0.5)).toBeCloseTo(2005, -1);
  expect(solo.gpu.busy).toBeCloseTo(0.25, 1);
});

test("a thread percentage bounds the SMs that best-effort work holds", () => {
  const { gpu: seen } = window("mps-30", { high: { ...high, arrivalsNs: [] } });
  expect(seen.smActivity).toBeLessThanOrEqual(0.31);
  expect(seen.smActivity).toBeGreaterThan(0.28);
});

test("a green context of 100 SMs has 104: a kernel that needs more takes another wave", () => {
  const solo = (highSms: number, sms: number) => {
    const profile = workload("wide", of(20, { us: 50, sms }), { kind: "inference" });
    const arrangement = { ...arrangementNamed("solo"), highSms };
    return serviceUs(window("solo", { arrangement, high: { profile, submission: "graph" } }), 0.5);
  };
  expect(solo(132, 128)).toBeCloseTo(1003.2, 0);
  expect(solo(100, 104)).toBeCloseTo(1003.2, 0);
  expect(solo(100, 105)).toBeCloseTo(2003.2, 0);
});

test("priority under MPS serves requests faster than none", () => {
  // It has many waves: it hands SMs over as its blocks end, and without priority when its last have begun.
  const long = workload("long", of(10, { us: 500, sms: 10 * 132 }));
  const jobs = [{ profile: long, submission: "kernels" }] as const;
  const service = (name: string) => serviceUs(window(name, { bestEffort: jobs }), 0.5);
  expect(service("mps-priority")).toBeLessThan(0.3 * service("mps"));
});

test("strict keeps a request near its solo time and gives the rest to best-effort work", () => {
  const solo = window("solo");
  const alone = rate(window("alone"));
  const sliced = window("time-slicing");
  const gated = window("strict-isolated");
  expect(serviceUs(sliced, 0.5) / serviceUs(solo, 0.5)).toBeGreaterThan(2);
  expect(serviceUs(gated, 0.5) / serviceUs(solo, 0.5)).toBeLessThan(1.1);
  expect(rate(gated) / alone).toBeGreaterThan(0.85 * (1 - solo.gpu.busy));
});

test("policies see what requests take", () => {
  const seen: (number | undefined)[] = [];
  const strict = policyNamed("strict");
  const spy = {
    ...strict,
    rules(observed: Parameters<typeof strict.rules>[0]) {
      seen.push(observed.high[0]?.burstP50Us);
      return strict.rules(observed);
    },
  };
  window("strict-mps", { arrangement: gatedBy("spied", spy, "mps") });
  expect(seen.length).toBeGreaterThanOrEqual(8);
  for (const us of seen) expect(us).toBeCloseTo(2500, -2);
});

test("announced requests find best-effort work gone; what is left is MPS, or the switch of contexts", () => {
  const solo = serviceUs(window("solo"), 0.99);
  const kernels = request.sequence.length;
  expect(serviceUs(window("floor-mps"), 0.99)).toBeLessThan(
    solo + 1 + (kernels * gpu.mpsNs) / 1000,
  );
  expect(serviceUs(window("floor"), 0.99)).toBeLessThan(solo + 141);
});

test.each([
  { name: "mps-0", message: 'No arrangement is called "mps-0".' },
  { name: "fair-mps", message: 'No arrangement is called "fair-mps".' },
  { name: "strict-mps:chunk=1", message: 'No rule is called "chunk".' },
])("$name is wrong use", ({ name, message }) => {
  expect(() => arrangementNamed(name)).toThrow(message);
});
