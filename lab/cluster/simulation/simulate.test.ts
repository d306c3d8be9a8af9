// Whole simulations that are small enough for their result to be known or bounded.
import { describe, expect, test } from "vitest";
import { syntheticTruth, syntheticWorkloads } from "../input/synthetic.ts";
import type { ClusterPlan, Job } from "../model/plan.ts";
import type { Workload } from "../model/workload.ts";
import { htmlReport } from "../report/html.ts";
import { schedulerNamed as kindNamed, schedulers } from "../schedulers/index.ts";
import type { SchedulerKind, View } from "../schedulers/scheduler.ts";
import { simulate } from "./simulate.ts";

/** With the trigger that it was published with. */
const schedulerNamed = (text: string) => kindNamed(text, "published");

const named = (name: string): Workload => {
  const found = syntheticWorkloads.find((one) => one.name === name);
  if (!found) throw new Error(name);
  return found;
};
const training = named("vgg-train");

const job = (name: string, submitted: number, seconds: number, more: Partial<Job> = {}): Job => ({
  name,
  workload: training,
  submitted,
  seconds,
  gpus: 1,
  priority: 0,
  ...more,
});

const HOUR = 3600;
const quiet = { pair: 0, start: 0, meter: 0, estimate: 0 };

/** A cluster of whole GPUs, without services or noise. */
const dedicated = (
  gpus: number,
  jobs: readonly Job[],
  more: Partial<ClusterPlan> = {},
): ClusterPlan => ({
  name: "small",
  about: "",
  seed: 1,
  horizon: HOUR,
  atMost: 100 * HOUR,
  step: 60,
  interval: 600,
  gpus: [{ type: "T4", count: gpus, memoryGB: 16, speed: 1 }],
  gpusPerNode: 4,
  memoryQuota: 0.6,
  services: [],
  jobs,
  truth: syntheticTruth,
  profiled: 1,
  // Learns fast. What our own learner predicts is tested in parts.test.ts.
  forecast: "ridge",
  costs: { restart: 30, checkpoint: 600, dollarsPerGpuHour: 2 },
  faults: { gpuPerDay: 0, repair: HOUR },
  noise: quiet,
  ...more,
});

/** Eight GPUs with services, and thirty jobs. */
const shared = (seed: number, more: Partial<ClusterPlan> = {}): ClusterPlan => {
  const load = { low: 0.1, high: 0.4, peakHour: 3, burstsPerDay: 4, spread: 0.1, wander: 0.05 };
  const models = syntheticWorkloads.filter(({ role }) => role === "offline");
  return dedicated(
    8,
    Array.from({ length: 30 }, (_, i) =>
      job(`job-${i}`, 200 * i, 300 + 400 * (i % 7), {
        workload: models[i % models.length] as Workload,
      }),
    ),
    {
      seed,
      horizon: 6 * HOUR,
      services: ["recommendation", "translation"].map((name) => ({
        workload: named(name),
        gpus: 4,
        load,
        cv: 0.5,
      })),
      noise: { pair: 0.1, start: 0.03, meter: 0.03, estimate: 0.3 },
      ...more,
    },
  );
};

const completion = (plan: ClusterPlan, scheduler: string): number[] =>
  simulate(plan, schedulerNamed(scheduler)).jcts.map((one) => Math.round(one));

describe("on whole GPUs the times are known", () => {
  test("first come first served: a start costs a restart, the second waits for the round after", () => {
    const jobs = [job("a", 0, 1000), job("b", 10, 100)];
    // a: 0 + 30 + 1000. b starts at the round of 1200 s: 1200 + 30 + 100 - 10.
    expect(completion(dedicated(1, jobs), "time-sharing")).toEqual([1030, 1320]);
  });

  test("the shortest remaining time preempts, and a preempted job keeps its progress", () => {
    const jobs = [job("long", 0, 3000), job("short", 10, 100)];
    // short takes over at 600 s: 600 + 30 + 100 - 10. long has done 570 s by then and continues at 1200 s: + 30 + 2430.
    expect(completion(dedicated(1, jobs), "srtf")).toEqual([720, 3660]);
  });

  test("least attained service goes first once the queues' limits are passed", () => {
    // long passes 3,250 GPU seconds on four GPUs by the round of 1,200 s and makes way for the new one.
    const jobs = [job("long", 0, 3000, { gpus: 4 }), job("new", 700, 100, { gpus: 4 })];
    expect(completion(dedicated(4, jobs), "tiresias")).toEqual([
      1200 + 130 - 700,
      1800 + 30 + (3000 - 1170),
    ]);
  });

  test("a job on several GPUs waits for all of them, on one node when it fits there", () => {
    const jobs = [job("wide", 0, 500, { gpus: 3 }), job("narrow", 0, 400, { gpus: 2 })];
    expect(completion(dedicated(4, jobs), "time-sharing")).toEqual([530, 1030]);
    expect(completion(dedicated(8, jobs), "time-sharing")).toEqual([430, 530]);
  });

  test("a slower GPU takes longer, and is worth as much of itself", () => {
    const slow = dedicated(1, [job("a", 0, 1000)], {
      gpus: [{ type: "K80", count: 1, memoryGB: 12, speed: 0.5 }],
    });
    const figures = simulate(slow, schedulerNamed("srtf"));
    expect(figures.jctMean).toBeCloseTo(30 + 2000);
    expect(figures.oversold).toBeCloseTo(2000 / 2030);
    expect(figures.savedDollars).toBeCloseTo((2 * 2000) / HOUR);
  });
});

describe("failures", () => {
  test("throw a job back to its checkpoint and keep its GPU away; it ends all the same", () => {
    const plan = dedicated(2, [job("a", 0, 40 * HOUR)], { faults: { gpuPerDay: 4, repair: HOUR } });
    const figures = simulate(plan, schedulerNamed("srtf"));
    expect(figures.finished).toBe(1);
    expect(figures.failures).toBeGreaterThan(0);
    expect(figures.lost).toBeGreaterThan(0);
    expect(figures.lost).toBeLessThanOrEqual(figures.failures * 600);
    expect(figures.jctMean).toBeGreaterThan(40 * HOUR + figures.lost);
  });
});

describe.each(schedulers)("$name", (kind) => {
  const figures = simulate(shared(1), kind);

  test("ends all jobs unless it starts none, and its figures are within their bounds", () => {
    expect(figures.finished).toBe(kind.idle ? 0 : 30);
    for (const part of [
      figures.oversold,
      figures.busy,
      figures.activity,
      figures.memory,
      figures.turnedAway,
    ]) {
      expect(part).toBeGreaterThanOrEqual(0);
      expect(part).toBeLessThanOrEqual(1);
    }
    expect(figures.meanSlowdown).toBeGreaterThanOrEqual(1);
    expect(figures.p99Slowdown).toBeGreaterThanOrEqual(1);
    expect(figures.starts).toBeGreaterThanOrEqual(figures.finished);
    if (kind.idle) expect(figures.meanSlowdown).toBe(1);
  });

  test("gives the same figures for the same seed, and others for another seed", () => {
    expect(simulate(shared(1), kind)).toEqual(figures);
    expect(simulate(shared(2), kind)).not.toEqual(figures);
  });

  test("never looks at the truth, gives no GPU away twice and keeps to memory and health", () => {
    const watched: SchedulerKind = {
      ...kind,
      make() {
        const scheduler = kind.make();
        return { ...scheduler, plan: (view) => checked(view, scheduler.plan(view)) };
      },
    };
    const checked = (view: View, orders: ReturnType<ReturnType<typeof kind.make>["plan"]>) => {
      expect(Object.keys(view).sort()).toEqual([
        "interval",
        "jobs",
        "now",
        "predictions",
        "restart",
        "seats",
      ]);
      expect(new Set(orders.map((order) => order.job)).size).toBe(orders.length);
      const most = kind.make().jobsPerGpu ?? 1;
      for (const seat of view.seats) {
        const here = orders.filter(({ seats }) => seats.includes(seat.index));
        expect(here.length).toBeLessThanOrEqual(most);
        const memoryGB = here.reduce(
          (sum, { job: index }) =>
            sum + (view.jobs.find((one) => one.index === index)?.workload.memoryGB ?? 0),
          0,
        );
        expect(memoryGB).toBeLessThanOrEqual(seat.freeMemoryGB);
        // MPS limits each client and not their sum. Shares that were corrected between rounds count here, too.
        const running = view.jobs.filter(({ placed }) => placed?.seats.includes(seat.index));
        for (const shares of [
          here.map(({ share }) => share),
          running.map(({ placed }) => placed?.share ?? 0),
        ])
          expect(shares.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(1 + 1e-9);
      }
      for (const order of orders) {
        const one = view.jobs.find(({ index }) => index === order.job);
        const seat = view.seats[order.seats[0] ?? -1];
        expect(order.share).toBeGreaterThan(0);
        expect(order.share).toBeLessThanOrEqual(1);
        expect(one?.workload.memoryGB).toBeLessThanOrEqual(seat?.freeMemoryGB ?? 0);
        if (!one?.placed) expect(seat?.healthy).toBe(true);
      }
      return orders;
    };
    expect(simulate(shared(3, { faults: { gpuPerDay: 2, repair: HOUR } }), watched).jobs).toBe(30);
  });
});

describe("triggers", () => {
  const jobs = [job("a", 0, 1000), job("b", 10, 100)];

  test("the same scheduler waits for the round, or fills a free GPU at the next step", () => {
    const plan = dedicated(1, jobs);
    // a ends at 1,030 s. In rounds b starts at 1,200 s, at once at 1,080 s.
    for (const name of ["time-sharing", "kace-greedy", "srtf"]) {
      expect(completion(plan, `${name}@rounds`)).toEqual(completion(plan, name));
      expect(completion(plan, `${name}@rounds`)).not.toEqual(completion(plan, `${name}@once`));
    }
    expect(completion(plan, "time-sharing@once")).toEqual([1030, 1080 + 130 - 10]);
    expect(completion(plan, "muxflow@once")).toEqual(completion(plan, "cotenant"));
    expect(completion(plan, "muxflow")).toEqual(completion(plan, "cotenant@rounds"));
    for (const one of schedulers)
      expect(kindNamed(one.name).trigger, "all decide at once where nothing is said").toBe("once");
  });

  test("a knob trades completion time against slowdown", () => {
    const [free, dear] = ["cotenant=3", "cotenant=1.02"].map((name) =>
      simulate(shared(1), schedulerNamed(name)),
    );
    expect(dear?.scheduler).toBe("cotenant=1.02");
    expect(dear?.meanSlowdown).toBeLessThan(free?.meanSlowdown ?? 0);
    expect(dear?.jctMean).toBeGreaterThan(free?.jctMean ?? 0);
  });

  test.each([
    ["cotenant@never", /No scheduler is called "cotenant@never"/],
    ["cotenant=", /largest slowdown factor.*, from 1 to 100/],
    ["kace-greedy=2@once", /share of the SMs that each job may use, from 0.1 to 1/],
    ["srtf=1", /srtf has no number to set/],
  ])("%s is refused", (name, message) => {
    expect(() => schedulerNamed(name)).toThrow(message);
  });
});

test("at constant load, mean and p99 alone are those of the queue", () => {
  const [load, cv] = [0.6, 1];
  const base = shared(1);
  const services = base.services.map((one) => ({
    ...one,
    cv,
    load: { low: load, high: load, peakHour: 0, burstsPerDay: 0, spread: 0, wander: 0 },
  }));
  const { services: found } = simulate({ ...base, services }, schedulerNamed("online-only"));
  found.forEach(({ meanMs }, i) => {
    const own = services[i]?.workload.requestMs ?? 0;
    // Pollaczek and Khinchine.
    expect(meanMs / own).toBeCloseTo(1 + (load * (1 + cv * cv)) / (2 * (1 - load)), 6);
  });
});

test("GPU-hours saved are fewer where jobs end later or requests are slower", () => {
  const of = (name: string) => simulate(shared(1), schedulerNamed(name)).savedGpuHours;
  const [none, rounds, once] = ["online-only", "muxflow", "cotenant"].map(of);
  expect(none).toBe(0);
  expect(rounds).toBeGreaterThan(0);
  expect(once).not.toBeCloseTo(rounds ?? 0, 3);
});

test("the online side alone is the same with every scheduler", () => {
  const alone = (name: string) =>
    simulate(shared(1), schedulerNamed(name)).services.map(
      ({ meanMs, meanSlowdown }) => meanMs / meanSlowdown,
    );
  const [first, ...others] = ["online-only", "time-sharing", "muxflow", "cotenant"].map(alone);
  for (const other of others)
    other.forEach((ms, i) => void expect(ms).toBeCloseTo(first?.[i] ?? 0, 6));
});

test("a higher priority is served first where seats are short", () => {
  const jobs = Array.from({ length: 12 }, (_, i) =>
    job(`job-${i}`, 0, 2000, { priority: i === 11 ? 1 : 0 }),
  );
  const base = shared(1);
  const plan = {
    ...base,
    jobs,
    gpus: [{ type: "T4", count: 2, memoryGB: 16, speed: 1 }],
    services: base.services.slice(0, 1).map((one) => ({ ...one, gpus: 2 })),
  };
  let first: readonly number[] = [];
  const kind = schedulerNamed("cotenant");
  simulate(plan, {
    ...kind,
    make() {
      const scheduler = kind.make();
      return {
        ...scheduler,
        plan(view) {
          const orders = scheduler.plan(view);
          if (view.now === 0) first = orders.map((order) => order.job);
          return orders;
        },
      };
    },
  });
  expect(first).toContain(11);
});

/** Many short jobs that each need little of a GPU, on four GPUs. */
const crowd = (priorities = false): ClusterPlan => {
  const base = shared(1);
  return {
    ...base,
    gpus: [{ type: "T4", count: 4, memoryGB: 40, speed: 1 }],
    services: base.services.map((one) => ({ ...one, gpus: 2 })),
    jobs: Array.from({ length: 24 }, (_, i) =>
      job(`job-${i}`, 0, 3000, {
        workload: named("small-train"),
        priority: priorities && i >= 20 ? 1 : 0,
      }),
    ),
  };
};

test("several jobs on a GPU end sooner where GPUs are short, at a slowdown within the same limit", () => {
  const [one, several] = ["cotenant", "cotenant-several"].map((name) =>
    simulate(crowd(), schedulerNamed(name)),
  );
  expect(several?.jctMean).toBeLessThan(0.8 * (one?.jctMean ?? 0));
  expect(several?.makespan).toBeLessThan(one?.makespan ?? 0);
  expect(several?.meanSlowdown).toBeLessThan(1.15);
});

test("with room for all jobs, sharing among several changes nothing", () => {
  const plan = shared(1, { jobs: [job("only", 0, 4000)] });
  const [one, several] = ["cotenant", "cotenant-several"].map((name) =>
    simulate(plan, schedulerNamed(name)),
  );
  expect(several?.jcts).toEqual(one?.jcts);
});

test("figures are given by priority, and the higher one waits less", () => {
  for (const name of ["cotenant", "cotenant-several"]) {
    const { byPriority } = simulate(crowd(true), schedulerNamed(name));
    const [high, low] = byPriority;
    expect(byPriority.map(({ priority, jobs }) => [priority, jobs])).toEqual([
      [1, 4],
      [0, 20],
    ]);
    expect(high?.waitingMean).toBeLessThan(low?.waitingMean ?? 0);
    expect(high?.jctMean).toBeLessThan(low?.jctMean ?? 0);
  }
});

test("the report is one page that loads nothing, and escapes what it is given", () => {
  const figures = ["online-only", "muxflow", "cotenant"].map((name) =>
    simulate(shared(1), schedulerNamed(name)),
  );
  const page = htmlReport({
    name: "<b>day</b>",
    about: 'a & "b"',
    command: "cotenant cluster",
    figures,
    hours: 6,
  });
  expect(page).toContain("&lt;b&gt;day&lt;/b&gt;");
  expect(page).not.toMatch(/<img|url\(|src=|href="(?!data:,")|@import|<b>day/);
  expect(page).not.toContain("http:");
  expect(page).not.toContain("https:");
  expect(page.replace(/<script>.*<\/script>/s, "")).not.toMatch(/NaN|undefined|Infinity/);
  expect(page.match(/<svg/g)).toHaveLength(8);
});
