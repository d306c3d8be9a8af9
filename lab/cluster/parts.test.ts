import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { syntheticTruth, syntheticWorkloads } from "./input/synthetic.ts";
import { addServed, backlogAfter, type Latencies, noLatencies, quantile } from "./model/latency.ts";
import { loadCurve } from "./model/load.ts";
import { CAMPAIGN_SAMPLES, campaign, learn, offlineCampaign } from "./model/predictions.ts";
import { queueTable } from "./model/queue.ts";
import { randomStream } from "./model/random-stream.ts";
import {
  atLoad,
  type Mechanism,
  neighboursOn,
  sharingNumbers,
  TENANT,
  TENANTS,
  type Tenant,
} from "./model/sharing.ts";
import { perturb } from "./model/truth.ts";
import { aloneAt, smNeed, type Workload } from "./model/workload.ts";
import { calendar } from "./simulation/calendar.ts";
import { look, lose, repair, workingMonitor } from "./simulation/monitor.ts";
import { numberRecords } from "./simulation/state.ts";

const online = syntheticWorkloads.filter(({ role }) => role === "online");
const offline = syntheticWorkloads.filter(({ role }) => role === "offline");
const [service] = online as [Workload];
const [training] = offline as [Workload];

describe("the calendar", () => {
  test("gives events back by time, then priority, then in the order in which they were added", () => {
    const entry = fc.record({
      time: fc.integer({ min: 0, max: 5 }),
      priority: fc.integer({ min: 0, max: 2 }),
    });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 60 }), (entries) => {
        const events = calendar<number>();
        entries.forEach(({ time, priority }, i) => {
          events.add(time, priority, i);
        });
        const taken = entries.map(() => events.take());
        const sorted = entries
          .map((one, i) => ({ ...one, i }))
          .sort((a, b) => a.time - b.time || a.priority - b.priority || a.i - b.i);
        expect(taken).toEqual(sorted.map(({ i }) => i));
        expect(events.take()).toBeUndefined();
      }),
    );
  });

  test.each([[-1], [Number.NaN]])("an event at %d s is refused", (time) => {
    expect(() => calendar().add(time, 0, "e")).toThrow(RangeError);
  });
});

describe("the queue of requests", () => {
  /** All latencies of a service at a constant load, whose requests take a second on average. */
  const constant = (load: number, cv: number) => {
    const latencies = noLatencies(queueTable(cv));
    addServed(latencies, { requests: 1000, service: 1, load, backlog: 0 });
    return latencies;
  };

  const PARTS = 20_000;
  test.each(
    [0, 0.5, 1, 2].flatMap((cv) =>
      [0.02, 0.33, 0.6, 0.8, 0.9, 0.945, 0.96].map((load) => ({ cv, load })),
    ),
  )("at load $load and cv $cv waits as Pollaczek and Khinchine say", ({ cv, load }) => {
    const formula = 1 + (load * (1 + cv * cv)) / (2 * (1 - load));
    const latencies = constant(load, cv);
    expect(latencies.total / latencies.requests / formula).toBeCloseTo(1, 9);
    // The distribution has the same mean, up to its last slices and the width of a bin.
    let sum = 0;
    for (let i = 0; i < PARTS; i++) sum += quantile(latencies, (i + 0.5) / PARTS) ?? 0;
    expect(Math.abs(sum / PARTS / formula - 1)).toBeLessThan(0.02);
  });

  /** Erlang's formula for the waiting time of M/D/1 (Tijms, "A First Course in Stochastic Models", 9.2), to `x`. */
  const erlang = (load: number, x: number): number => {
    let sum = 0;
    let term = 1;
    for (let k = 0; k <= Math.floor(x); k++) {
      term = k === 0 ? 1 : term * (load / k);
      sum += term * (k - x) ** k * Math.exp(load * (x - k));
    }
    return (1 - load) * sum;
  };

  test.each([0.2, 0.5, 0.7, 0.85])(
    "at load %d and equal requests, p90 and p99 are Erlang's",
    (load) => {
      for (const part of [0.9, 0.99]) {
        const response = quantile(constant(load, 0), part) ?? 0;
        const found = erlang(load, response - 1);
        expect(Math.abs(found - part) / (1 - part)).toBeLessThan(0.06);
      }
    },
  );

  test("quantiles are those of a long simulation of the queue", () => {
    const [load, cv, requests] = [0.7, 1, 400_000];
    const { normal, exponential } = randomStream(5, "requests");
    const sigma = Math.sqrt(Math.log(1 + cv * cv));
    const responses = new Float64Array(requests);
    let wait = 0;
    for (let i = 0; i < requests; i++) {
      const own = Math.exp(sigma * normal() - sigma ** 2 / 2);
      responses[i] = wait + own;
      wait = Math.max(0, wait + own - exponential() / load);
    }
    responses.sort();
    for (const part of [0.25, 0.5, 0.9, 0.95, 0.99, 0.999])
      expect(
        (quantile(constant(load, cv), part) ?? 0) / (responses[part * requests] ?? 1),
      ).toBeCloseTo(1, part > 0.99 ? 0 : 1);
  });

  test("p99 comes from the queue: it grows faster than the slowdown that makes it", () => {
    const table = queueTable(0.3);
    const p99 = (slowdown: number) => {
      const latencies = noLatencies(table);
      addServed(latencies, {
        requests: 1000,
        service: 0.01 * slowdown,
        load: 0.6 * slowdown,
        backlog: 0,
      });
      return quantile(latencies, 0.99) ?? 0;
    };
    expect(p99(1)).toBeGreaterThan(0.01 * 2);
    expect(p99(1.2) / p99(1)).toBeGreaterThan(1.4);
  });

  test("requests that are counted together have the quantiles that they have by themselves", () => {
    for (const cv of [0, 0.5, 2])
      for (const load of [0.017, 0.333, 0.61, 0.88, 0.951]) {
        // A backlog, however small, enters the histogram by itself.
        const [counted, alone] = [0, 1e-12].map((backlog) => {
          const latencies = noLatencies(queueTable(cv));
          addServed(latencies, { requests: 1000, service: 0.01, load, backlog });
          return latencies;
        });
        // Within two bins of the histogram.
        for (const part of [0.5, 0.9, 0.99, 0.999]) {
          const [together, apart] = [counted, alone].map(
            (one) => quantile(one as Latencies, part) ?? Number.NaN,
          ) as [number, number];
          expect(Math.abs(together / apart - 1)).toBeLessThan(0.02);
        }
      }
  });

  test("more service times than are counted apart lose no request", () => {
    const latencies = noLatencies(queueTable(0.5));
    for (let i = 0; i < 700; i++)
      addServed(latencies, { requests: 2, service: 0.01 + i / 1e6, load: 0.3, backlog: 0 });
    expect(latencies.requests).toBe(1400);
    expect(quantile(latencies, 0) ?? 0).toBeGreaterThan(0.001);
    // All of them are in the histogram: its end is where the slowest requests are.
    expect(quantile(latencies, 1 - 1e-9) ?? 9).toBeLessThan(1);
    expect(latencies.rises.some((rise) => rise !== 0)).toBe(true);
  });

  test("an overloaded GPU builds a backlog, up to a full queue, and turns requests away", () => {
    expect(backlogAfter(0, 0.5, 60)).toBe(0);
    expect(backlogAfter(0, 1.01, 10)).toBeCloseTo(0.5);
    const full = backlogAfter(0, 1.2, 3600);
    const latencies = noLatencies(queueTable(0));
    addServed(latencies, {
      requests: 100,
      service: 0.01,
      load: 1.2,
      backlog: full,
    });
    expect(latencies.turnedAway).toBeCloseTo(20);
    expect(quantile(latencies, 0.5)).toBeGreaterThan(full);
  });

  test("without requests there is no latency", () => {
    expect(quantile(noLatencies(queueTable(0)), 0.99)).toBeUndefined();
  });
});

test("a service is busiest at its peak hour, and its days are similar", () => {
  const load = { low: 0.1, high: 0.5, peakHour: 20, burstsPerDay: 0, spread: 0, wander: 0.05 };
  const curve = loadCurve(load, { from: -86_400, to: 86_400, step: 300 }, randomStream(1, "load"));
  const at = (hour: number) => curve[Math.round((hour * 3600) / 300)] ?? 0;
  expect(at(20) / 0.5).toBeCloseTo(1, 0);
  expect(at(8)).toBeLessThan(0.15);
  expect(Math.abs(at(44) / at(20) - 1)).toBeLessThan(0.3);
  expect(curve.every((one) => one > 0)).toBe(true);
});

describe("SysMonitor", () => {
  test("evicts once over the limit, and stays away longer each time", () => {
    const gpu = { monitor: workingMonitor() };
    expect(look(gpu, 0, 1)).toBe(false);
    expect(look(gpu, 60, 1.25)).toBe(false);
    expect(gpu.monitor.health).toBe("unhealthy");
    expect(look(gpu, 120, 1.4)).toBe(true);
    expect(look(gpu, 180, 1.4)).toBe(false);
    look(gpu, 200, 0.5);
    expect(gpu.monitor.health).toBe("overlimit");
    look(gpu, 240, 0.5);
    expect(gpu.monitor.health).toBe("unhealthy");
    look(gpu, 241, 0.5);
    expect(gpu.monitor.health).toBe("healthy");
    expect(look(gpu, 300, 1.4)).toBe(true);
    expect(gpu.monitor.until).toBe(300 + 60 * 4);
  });

  test("a GPU that failed takes nothing, whatever is measured on it, until it is repaired", () => {
    const gpu = { monitor: workingMonitor() };
    lose(gpu, 10);
    expect(look(gpu, 20, 0.5)).toBe(false);
    expect(gpu.monitor.health).toBe("disabled");
    repair(gpu, 30);
    expect(gpu.monitor.health).toBe("healthy");
  });
});

test("records of numbers keep each number by itself", () => {
  const { records, numbers, width } = numberRecords(["load", "since"], 3, 1);
  records.forEach((record, i) => {
    record.load = i;
    record.since = -i;
  });
  expect(records.map(({ load, since }) => [load, since])).toEqual([
    [0, -0],
    [1, -1],
    [2, -2],
  ]);
  expect([width, numbers.length, numbers[width], numbers[width + 1]]).toEqual([3, 9, 1, -1]);
  const [mixed] = records.map((record) => Object.assign(record, { name: "GPU" }));
  expect([mixed?.load, mixed?.name, Object.keys(mixed ?? {})]).toEqual([0, "GPU", ["name"]]);
});

describe("sharing a GPU", () => {
  const tenants = (part: number, working = true): Tenant[] => [
    { workload: training, share: part, working },
  ];
  const share = (
    host: Workload | undefined,
    load: number,
    jobs: readonly (Tenant & { readonly luck?: number })[],
    mechanism: Mechanism,
  ) => {
    const numbers = new Float64Array(1 + TENANTS + jobs.length * TENANT.width);
    const tenant = (i: number) => 1 + TENANTS + i * TENANT.width;
    jobs.forEach(({ luck = 1 }, i) => {
      numbers[tenant(i) + TENANT.luck] = luck;
    });
    atLoad(neighboursOn(host, jobs, mechanism, syntheticTruth), load, numbers, 1);
    const of = (name: (typeof sharingNumbers)[number]) =>
      numbers[1 + sharingNumbers.indexOf(name)] as number;
    return {
      slowdown: of("slowdown"),
      busy: of("busy"),
      onlineActivity: of("onlineActivity"),
      activity: of("activity"),
      retained: jobs.map((_, i) => numbers[tenant(i) + TENANT.retained] as number),
    };
  };

  test("speeds and slowdowns stay within their bounds, whatever shares the GPU", () => {
    const cases = fc.record({
      host: fc.constantFrom(undefined, ...online),
      load: fc.double({ min: 0, max: 1.2, noNaN: true }),
      jobs: fc.array(
        fc.record({
          workload: fc.constantFrom(...offline),
          share: fc.double({ min: 0.1, max: 1, noNaN: true }),
          working: fc.boolean(),
          luck: fc.double({ min: 0.9, max: 1.1, noNaN: true }),
        }),
        { maxLength: 3 },
      ),
      mechanism: fc.constantFrom<Mechanism>("space", "time", "priority-time"),
    });
    fc.assert(
      fc.property(cases, ({ host, load, jobs, mechanism }) => {
        const found = share(host, load, jobs, mechanism);
        expect(found.slowdown).toBeGreaterThanOrEqual(1);
        for (const one of [...found.retained, found.busy, found.activity, found.onlineActivity]) {
          expect(one).toBeGreaterThanOrEqual(0);
          expect(one).toBeLessThanOrEqual(1);
        }
        jobs.forEach(({ working }, i) => {
          if (!working) expect(found.retained[i]).toBe(0);
        });
      }),
    );
  });

  test("alone on a GPU a job runs at full speed, and a service at its solo speed", () => {
    expect(share(undefined, 0, tenants(1), "space").retained).toEqual([1]);
    expect(share(service, 0.4, [], "space").slowdown).toBe(1);
    expect(share(service, 0.4, tenants(1, false), "time").slowdown).toBe(1);
  });

  test("priority costs requests less than equal turns, and jobs more", () => {
    const [equal, first] = (["time", "priority-time"] as const).map((mechanism) =>
      share(service, 0.4, tenants(1), mechanism),
    );
    expect(first?.slowdown).toBeLessThan(equal?.slowdown ?? 0);
    expect(first?.retained[0]).toBeLessThan(equal?.retained[0] ?? 0);
  });

  test("a busier service leaves a job less", () => {
    const retained = [0, 0.3, 0.6].map(
      (load) => share(service, load, tenants(0.9), "space").retained[0] ?? 0,
    );
    expect(retained).toEqual([...retained].sort((a, b) => b - a));
  });
});

test("speeds by share lie between the measured ones", () => {
  const one = { ...training, byShare: [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.96, 0.99, 1] };
  expect(aloneAt(one, 0)).toBe(0);
  expect(aloneAt(one, 0.05)).toBeCloseTo(0.1);
  expect(aloneAt(one, 0.25)).toBeCloseTo(0.45);
  expect(aloneAt(one, 1)).toBe(1);
  expect(smNeed(one)).toBeCloseTo(0.8);
});

describe("forecasts of pairs", () => {
  const pairs = online.flatMap((a) => offline.map((b) => [a, b] as const));
  const shares = [0.2, 0.4, 0.6, 0.8, 1];

  test("are learned from noisy samples, for pairs that were profiled", () => {
    const truth = perturb(syntheticTruth, randomStream(5, "pairs"), 0.1);
    const predictions = learn(campaign(truth, pairs, randomStream(5, "campaign")));
    let missed = 0;
    for (const [a, b] of pairs)
      for (const part of shares) {
        const exact = truth.together(a, b, part);
        missed += Math.abs(predictions.offline(a, b, part) - exact.offline);
        missed += Math.abs(predictions.online(a, b, part) - exact.online);
      }
    expect(missed / (2 * pairs.length * shares.length)).toBeLessThan(0.05);
  });

  test("are also learned for pairs of jobs", () => {
    const groups = offline.flatMap((a) => offline.map((b) => [a, b] as const));
    const { beside } = learn(
      [],
      "ours",
      offlineCampaign(syntheticTruth, groups, randomStream(2, "")),
    );
    const misses = groups.map(([a, b]) =>
      Math.abs(beside(a, b, 0.5) - syntheticTruth.beside(a, b, 0.5)),
    );
    expect(misses.reduce((sum, one) => sum + one, 0) / misses.length).toBeLessThan(0.05);
  });

  test("without any sample they predict no loss", () => {
    const predictions = learn(
      campaign(syntheticTruth, [], randomStream(1, "campaign"), CAMPAIGN_SAMPLES),
    );
    expect(predictions.online(service, training, 0.5)).toBe(1);
    expect(predictions.beside(training, training, 0.5)).toBe(1);
    expect(predictions.offline(service, training, 0.5)).toBe(aloneAt(training, 0.5));
  });

  test("the truth differs between runs and is constant within one", () => {
    const of = (seed: number) => perturb(syntheticTruth, randomStream(seed, "pairs"), 0.1);
    const one = of(1);
    expect(one.together(service, training, 0.8)).toEqual(one.together(service, training, 0.8));
    expect(one.together(service, training, 0.8)).not.toEqual(
      of(2).together(service, training, 0.8),
    );
  });
});
