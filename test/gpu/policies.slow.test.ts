// The effect of each policy on the modelled GPU: with the real gate, and jobs made for the purpose.
import { describe, expect, test } from "vitest";
import { arrangementNamed, runWindow, type WindowPlan } from "#gpu";
import type { Mark, WorkloadProfile } from "#profile";
import { h200, type KernelShape, workload } from "./example.ts";
import { arrivals, rate, serviceUs } from "./quantiles.ts";

const gpu = h200();
const of = (count: number, shape: KernelShape) => Array.from({ length: count }, () => shape);
const request = (shape: KernelShape) => workload("request", of(50, shape), { kind: "inference" });
const training = (shape: KernelShape, count = 100) => workload("training", of(count, shape));
const quiet = { gapUs: 0 };

function run(
  arrangement: string,
  high: WorkloadProfile,
  bestEffort: WorkloadProfile,
  more: Partial<WindowPlan> & { readonly slowdown?: number } = {},
) {
  const { slowdown, ...plan } = more;
  const seconds = plan.seconds ?? 1;
  const objective = slowdown === undefined ? {} : { objective: { p99Us: undefined, slowdown } };
  const loops = high.kind === "training" || high.name === "loop";
  const arrivalsNs = loops ? {} : { arrivalsNs: arrivals(seconds, 4, 12) };
  return runWindow({
    high: { profile: high, submission: "kernels", ...arrivalsNs, ...objective },
    bestEffort: [{ profile: bestEffort, submission: "kernels" }],
    gpu,
    ...plan,
    arrangement: arrangementNamed(arrangement),
    seconds,
  });
}

/** Retained throughput while the high job is always active. */
function keptBesideClosedLoop(arrangement: string, high: KernelShape, bestEffort: KernelShape) {
  const loop = workload("loop", of(50, high), { kind: "inference" });
  const job = training(bestEffort);
  const plan = { seconds: 0.4 };
  return rate(run(arrangement, loop, job, plan)) / rate(run("alone", loop, job, plan));
}

const compute = { us: 40, sms: 40, sm: 0.2, memory: 0.1, class: "compute", ...quiet } as const;
const memory = { ...compute, us: 20, class: "memory" } as const;

describe("orion", () => {
  test.each([
    { name: "of the opposite class", kernel: memory, runs: true },
    { name: "of no class", kernel: { ...memory, class: "unknown" as const }, runs: true },
    { name: "of the same class", kernel: { ...memory, class: "compute" as const }, runs: false },
    { name: "that needs every SM", kernel: { ...memory, sms: 132 }, runs: false },
  ])("beside a request a kernel $name: $runs", ({ kernel, runs }) => {
    const kept = keptBesideClosedLoop("orion-mps", compute, kernel);
    if (runs) expect(kept).toBeGreaterThan(0.3);
    else expect(kept).toBeLessThan(0.1);
  });

  test("a smaller SM_THRESHOLD keeps larger kernels waiting", () => {
    expect(keptBesideClosedLoop("orion-mps:smLimit=41", compute, memory)).toBeGreaterThan(0.3);
    expect(keptBesideClosedLoop("orion-mps:smLimit=40", compute, memory)).toBeLessThan(0.1);
  });

  test("a request waits for no more than DUR_THRESHOLD and one kernel", () => {
    const high = request({ us: 49, ...quiet });
    const [solo, beside] = ["solo", "orion-mps"].map((name) =>
      run(name, high, training({ us: 30, class: "compute", sm: 0.9, ...quiet })),
    );
    // 2.5 % of 2.45 ms, passed by a kernel of 30 us; and a launch's nap.
    expect(serviceUs(beside ?? nobody, 1) - serviceUs(solo ?? nobody, 1)).toBeLessThan(
      61 + 30 + 30,
    );
  });

  test("a larger DUR_THRESHOLD gives the training more, and the request less", () => {
    const high = request({ us: 49, ...quiet });
    const job = training({ us: 30, sm: 0.9, class: "compute", ...quiet });
    const windows = [50, 500, 2000].map((us) =>
      run(`orion-mps:budgetUs=${us},chunkUs=${us}`, high, job),
    );
    const rates = windows.map((window) => rate(window));
    const p50s = windows.map((window) => serviceUs(window, 0.5));
    expect(rates).toEqual(rates.toSorted((a, b) => a - b));
    expect(p50s).toEqual(p50s.toSorted((a, b) => a - b));
  });

  test("finds how many SMs it may give beside a high training", () => {
    const high = workload("high", of(50, { us: 300, sms: 92, sm: 0.6, ...quiet }));
    const hurts = training({ us: 3000, sms: 100, memory: 0.1, ...quiet }, 10);
    const { requests, endNs } = run("orion-mps", high, hurts, { seconds: 40 });
    const late = requests.filter(({ arrivalNs }) => arrivalNs > 0.9 * endNs);
    const soloMs = 15;
    const lateMs = late.reduce((sum, { serviceNs }) => sum + serviceNs, 0) / late.length / 1e6;
    // The search allows a loss of 16 %.
    expect(lateMs).toBeLessThan(1.2 * soloMs);
  });
});

describe("reef", () => {
  test.each([
    { name: "fits the SMs left and ends in time", kernel: { ...compute, us: 10 }, runs: true },
    { name: "needs more SMs", kernel: { ...compute, us: 10, sms: 93 }, runs: false },
    { name: "takes longer", kernel: { ...compute, us: 41 }, runs: false },
  ])("a kernel that $name: $runs", ({ kernel, runs }) => {
    const kept = keptBesideClosedLoop("reef-mps", compute, kernel);
    if (runs) expect(kept).toBeGreaterThan(0.15);
    else expect(kept).toBeLessThan(0.1);
  });

  test("no more than 12 kernels are out when a request comes", () => {
    const high = request({ us: 49, ...quiet });
    const job = training({ us: 100, sm: 0.9, ...quiet });
    const added = serviceUs(run("reef-mps", high, job), 1) - serviceUs(run("solo", high, job), 1);
    expect(added).toBeGreaterThan(300);
    expect(added).toBeLessThanOrEqual(1250);
  });
});

describe("temporal", () => {
  const high = request({ us: 49, ...quiet });
  const job = training({ us: 100, ...quiet }, 100);

  test("a request waits until the iteration that was begun is over", () => {
    const window = run("temporal", high, job);
    expect(serviceUs(window, 1)).toBeGreaterThan(9_000);
    expect(serviceUs(window, 1)).toBeLessThan(2450 + 10_200);
  });

  test("of a job that says nothing of iterations, until the launch is over", () => {
    const unmarked = [{ profile: job, submission: "kernels", marks: false }] as const;
    const window = run("temporal", high, job, { bestEffort: unmarked });
    expect(serviceUs(window, 1)).toBeGreaterThan(2500);
    expect(serviceUs(window, 1)).toBeLessThan(2450 + 300);
  });

  test("and no iteration is begun while requests wait", () => {
    const busy = Array.from({ length: 200 }, (_, i) => i * 2e6);
    const window = run("temporal", high, job, {
      high: { profile: high, submission: "kernels", arrivalsNs: busy },
      seconds: 0.4,
    });
    const served = Math.max(...window.requests.map((one) => one.arrivalNs + one.latencyNs));
    const done = (window.doneNs[0] ?? []).filter((ns) => ns > window.settledNs && ns < served);
    expect(done).toEqual([]);
  });
});

describe("tgs", () => {
  const high = workload("high", of(50, { us: 30, sms: 132, sm: 0.9, ...quiet }));

  test("gives back what costs the high job its rate", () => {
    const harmful = training({ us: 60, sms: 132, sm: 0.9, ...quiet });
    const [mps, tgs] = ["mps", "tgs-mps"].map((name) => run(name, high, harmful, { seconds: 10 }));
    expect(mps?.requests.length).toBeLessThan(4000);
    expect(tgs?.requests.length).toBeGreaterThan(5500);
    expect(rate(tgs ?? nobody)).toBeGreaterThan(0);
  });

  test("lets more and more go where nothing is lost", () => {
    const small = { us: 300, sms: 20, sm: 0.05, memory: 0.05, ...quiet };
    const beside = workload("high", of(50, { us: 200, sms: 100, sm: 0.3, ...quiet }));
    const kept = rate(run("tgs-mps", beside, training(small), { seconds: 10 }));
    expect(kept / rate(run("alone", beside, training(small)))).toBeGreaterThan(0.4);
  });
});

describe("muxflow", () => {
  const job = training({ us: 60, sms: 132, sm: 0.9, ...quiet });

  test("leaves a GPU that the high job fills to a hundred launches a second", () => {
    const full = workload("high", of(50, { us: 200, sms: 132, sm: 0.9, ...quiet }));
    const [solo, mps, muxflow] = ["solo", "mps", "muxflow-mps"].map(
      (name) => run(name, full, job, { seconds: 5 }).requests.length,
    );
    expect(mps).toBeLessThan(0.9 * (solo ?? 0));
    expect(muxflow).toBeGreaterThan(0.9 * (solo ?? 0));
  });

  test("lets more go the less the high job needs, up to nearly all", () => {
    const small = training({ us: 100, sms: 20, sm: 0.05, memory: 0.05, ...quiet });
    const kept = (beside: WorkloadProfile) =>
      rate(run("muxflow-mps", beside, small, { seconds: 10 })) / rate(run("alone", beside, small));
    const light = kept(workload("light", of(50, { us: 200, sms: 40, sm: 0.1, ...quiet })));
    expect(light).toBeGreaterThan(0.8);
    expect(light).toBeGreaterThan(
      kept(workload("high", of(50, { us: 200, sms: 130, sm: 0.3, ...quiet }))),
    );
  });

  test("does not look at requests, so that a service pays for its gaps", () => {
    const slow = (name: string) => serviceUs(run(name, request(compute), job, { seconds: 5 }), 0.5);
    expect(slow("muxflow-mps")).toBeGreaterThan(1.1 * slow("strict-mps"));
  });
});

describe("cotenant", () => {
  const job = training({ us: 20, ...quiet });
  // 232 launches of 11 us for kernels of 5: the GPU idles for half of it.
  const launchBound = workload("launch-bound", of(232, { us: 5, sms: 60, gapUs: 11 }), {
    kind: "inference",
  });

  test.each(["isolated", "mps"])("is strict where nobody has an objective, mode %s", (mode) => {
    const [strict, cotenant] = ["strict", "cotenant"].map((name) =>
      run(`${name}-${mode}`, launchBound, job, { seconds: 2 }),
    );
    expect({ ...cotenant, level: undefined }).toEqual(strict);
  });

  /** Above 1.25 times what all of them take alone; they do not vary here. */
  const plan = { seconds: 40, slowdown: 0.25 };
  const above = (high: WorkloadProfile, arrangement: string, seconds = plan.seconds) => {
    const limit = 1.255 * serviceUs(run("solo", high, job, { seconds: 1 }), 0.5);
    const window = run(arrangement, high, job, { ...plan, seconds });
    const { requests } = window;
    const share =
      requests.filter(({ serviceNs }) => serviceNs / 1000 > limit).length / requests.length;
    return { window, share };
  };

  test("uses the gaps of a launch-bound request as far as its objective allows", () => {
    const strict = run("strict-mps", launchBound, job, { seconds: 4 });
    // Long enough that the way up is a small part of it.
    const { window, share } = above(launchBound, "cotenant-mps", 70);
    expect(rate(window)).toBeGreaterThan(1.1 * rate(strict));
    expect(share).toBeLessThan(0.015);
    // There are four levels above `strict`; the next one is tried again now and then.
    expect(window.level).toBeGreaterThan(1);
  });

  test.each(["slo-isolated", "slo-mps"])("and %s climbs here too", (name) => {
    const window = run(name, launchBound, job, { seconds: 16, slowdown: 0.25 });
    expect(window.level).toBeGreaterThan(1);
  });

  test("keeps away from a request that pays for it", () => {
    const busy = request({ us: 49, sms: 128, sm: 0.8, ...quiet });
    expect(above(busy, "cotenant-mps").share).toBeLessThan(0.015);
  });
});

describe("tick-tock", () => {
  const marked = (profile: WorkloadProfile, at: number): WorkloadProfile => ({
    ...profile,
    sequence: [
      ...profile.sequence.slice(0, at),
      { mark: "backward" as Mark },
      ...profile.sequence.slice(at),
    ],
  });
  const short = workload("short", of(60, { us: 50, sms: 60, sm: 0.1, memory: 0.1, ...quiet }));
  const long = workload("long", of(120, { us: 50, sms: 60, sm: 0.1, memory: 0.1, ...quiet }));

  test("both do as many iterations, at the pace of the slower one's passes", () => {
    const window = run("tick-tock-mps", marked(short, 20), marked(long, 40), { seconds: 1 });
    const high = window.requests.length / ((window.endNs - window.settledNs) / 1e9);
    expect(Math.abs(high - rate(window))).toBeLessThan(5);
    // Passes of 1 and 2 ms beside 2 and 4: 4 ms and 2 ms, were launches no matter.
    expect(1000 / high).toBeGreaterThan(5.9);
    expect(1000 / high).toBeLessThan(6.7);
  });

  test("needs marks, and two trainings", () => {
    expect(() => run("tick-tock-mps", short, marked(long, 40))).toThrow("does not mark");
    const served = { ...marked(short, 20), kind: "inference" as const };
    expect(() => run("tick-tock-mps", served, marked(long, 40))).toThrow("two trainings");
  });
});

const nobody = run("solo", request({ us: 49 }), training({ us: 20 }), { seconds: 0.1 });
