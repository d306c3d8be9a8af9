// Steps as the agent sees them: what is in a client's slot, in what the policy is told and in the status.
import { expect, onTestFinished, test } from "vitest";
import { BurstRing, renderMetrics, ServedGpu, sentencesOn, Watch } from "#agent";
import { ms, nanos } from "#core";
import { type AloneBursts, type Policy, parseObjective, policyNamed } from "#policy";
import { applicant, exampleStatus } from "../example.ts";
import { blindSensor, HandClock } from "../fakes.ts";
import { type Name, sequence, sequences } from "./sequences.ts";
import { writeBursts } from "./slots.ts";

const identity = { uuid: new Uint8Array(16), name: "soft", smCount: 4 };
const LOOK_NS = 250e6;

type Look = Parameters<NonNullable<Policy["remember"]>>[0];

/** A service whose bursts are those of a sequence, looked at four times a second. */
function serving(
  objective: Parameters<typeof applicant>[0] = { class: "high" },
  reference?: AloneBursts,
) {
  const gpu = new ServedGpu(identity, 1);
  onTestFinished(() => gpu.close());
  const client = gpu.take(applicant(objective), nanos(0));
  gpu.take(applicant({ class: "best-effort" }), nanos(0));
  const slot = gpu.region.memory.high[client?.slot ?? 0];
  if (!slot) throw new Error("no slot");
  const looks: Look[] = [];
  const policy: Policy = {
    ...policyNamed("strict"),
    remember(look) {
      looks.push(look);
      const known = reference ? look.high : [];
      const clients = known.map(
        ({ id }) => [id, { state: "learning", reference } as const] as const,
      );
      return { level: 0, pausedUntilMs: undefined, clients: new Map(clients) };
    },
  };
  const clock = new HandClock();
  const watch = new Watch({
    ...{ tenants: false, isolated: true, policy, overrides: {}, sensor: blindSensor, clock },
  });
  watch.lookAndDecide([gpu]);
  let from = clock.now();
  return {
    slot,
    looks,
    /** Goes on for so many s as a program does: the bursts of each sample are there when it comes. */
    run(name: Name, seconds: number, seed = 1) {
      const all = sequence(40_000, sequences[name], seed);
      const shift = from - (all[0]?.begin ?? 0);
      let next = 0;
      for (let look = 0; look < 4 * seconds; look++) {
        clock.advance(ms(LOOK_NS / 1e6));
        const until = clock.now();
        const ended = [];
        for (let burst = all[next]; burst && burst.end + shift <= until; burst = all[++next])
          ended.push({ ...burst, begin: burst.begin + shift, end: burst.end + shift });
        writeBursts(slot, ended);
        watch.lookAndDecide([gpu]);
      }
      from = clock.now();
    },
    /** Nothing happens for so many s. */
    rest(seconds: number) {
      for (let look = 0; look < 4 * seconds; look++) {
        clock.advance(ms(LOOK_NS / 1e6));
        watch.lookAndDecide([gpu]);
      }
      from = clock.now();
    },
    /** As it is shown. */
    gpu: () => {
      const [shown] = watch.statuses.of([gpu]);
      if (!shown) throw new Error("no GPU");
      return shown;
    },
    high() {
      const [high] = this.gpu().high;
      if (!high) throw new Error("no client");
      return high;
    },
  };
}

test.each([
  ["a step of one long burst", "generate", 340],
  ["a request of a copy and one long burst", "eager", 161],
] as const)(
  "the policy is told how much a burst launches, and how long that takes: of %s",
  (_, name, launches) => {
    const service = serving();
    service.run(name, 5);
    const told = service.looks.at(-1)?.high[0]?.usualBurst;
    expect(told?.launches).toBe(launches);
    const long = sequence(200, sequences[name], 1).filter((burst) => burst.launches === launches);
    const sumUs = long.reduce((sum, { begin, end }) => sum + (end - begin) / 1e3, 0);
    expect((told?.us ?? 0) / (sumUs / long.length)).toBeCloseTo(1, 1);
  },
);

test("the policy is told from how many launches on a burst is an engine's step with a prompt in it", () => {
  const service = serving();
  service.run("engine", 5);
  const rare = service.looks.at(-1)?.high[0]?.rareBursts;
  expect(rare?.afterLaunches).toBeGreaterThan(9);
  expect(rare?.afterLaunches).toBeLessThan(930);
});

test("the policy is told for a minute how long bursts took when the last ones ended", () => {
  const service = serving();
  service.run("one burst", 5);
  const told = () => service.looks.at(-1)?.high[0]?.burstP50Us;
  service.rest(59);
  expect(told()).toBeGreaterThan(2000);
  expect(service.high().burstP50Us).toBeUndefined();
  service.rest(6);
  expect(told()).toBeUndefined();
});

test("an engine has steps, of two kinds, and is judged by them", () => {
  const service = serving();
  service.run("engine", 10);
  const { steps, unit } = service.high();
  expect(unit).toBe("step");
  expect(steps?.stepP50Us).toBeGreaterThan(17_000);
  expect(steps?.stepP50Us).toBeLessThan(18_500);
  expect(steps?.burstsEach).toBeCloseTo(4, 1);
  expect(steps?.gapShare).toBeGreaterThan(0);
  expect(steps?.gapShare).toBeLessThan(0.05);
  expect(steps?.waitShare).toBeGreaterThan(0.7);
  const [tokens, prompts] = steps?.kinds ?? [];
  expect(tokens?.stepP99Us).toBeLessThan(19_000);
  expect(prompts?.stepP50Us).toBeGreaterThan(30_000);

  const seen = service.looks.slice(-16).flatMap(({ high }) => high);
  expect(seen.every(({ inSteps, id }) => inSteps === true && id.endsWith(" step"))).toBe(true);
  const ended = seen.flatMap(({ ended }) => [...(ended ?? [])]).reduce((sum, n) => sum + n, 0);
  expect(ended / 4).toBeCloseTo(steps?.stepsPerS ?? 0, -1);

  const said = sentencesOn(service.gpu(), exampleStatus.agent).join("\n");
  expect(said).toMatch(
    /steps of \S+ \(pid \d+\) in the last 4 s: [\d.]+ a second of 4 bursts each/,
  );
  expect(said).toContain("; of another kind ");
  expect(said).toMatch(/a step of \S+ takes 1[78] ms and keeps the GPU busy/);
});

test("its metrics have its steps", () => {
  const service = serving();
  service.run("engine", 8);
  const text = renderMetrics({ ...exampleStatus, gpus: [service.gpu()] });
  const [, count] = /cotenant_step_duration_seconds_count\{.*\} (\d+)/.exec(text) ?? [];
  expect(Number(count)).toBeGreaterThan(50);
  expect(text).toMatch(/cotenant_steps_per_second\{.*\} \d/);
});

test("requests of one burst are bursts, and random ones, too", () => {
  for (const name of ["one burst", "bursts of any length", "mostly short requests"] as const) {
    const service = serving();
    service.run(name, 10);
    const { steps, unit, stepHistograms } = service.high();
    expect({ steps, unit, stepHistograms }, name).toEqual({ unit: "burst" });
    const { high } = service.looks.at(-1) ?? {};
    expect(high?.[0]?.inSteps).toBeUndefined();
  }
});

test("an objective for the p99 of bursts, and a training, are judged as before", () => {
  const bursts = serving(applicant({ class: "high", objective: parseObjective(["p99=20ms"]) }));
  bursts.run("engine", 8);
  expect(bursts.high().unit).toBe("burst");
  expect(bursts.high().steps).toBeDefined();
  const training = serving(applicant({ class: "high", soloUs: 1000, training: true }));
  training.run("training", 20);
  expect(training.high().unit).toBe("burst");
});

test("a service keeps its steps through a few seconds of other work, and loses them when it becomes another one", () => {
  const service = serving();
  service.run("engine", 8);
  service.run("one burst", 3);
  expect(service.high().unit).toBe("step");
  service.run("engine", 8, 2);
  expect(service.high().unit).toBe("step");
  service.run("one burst back to back", 20);
  expect(service.high().unit).toBe("burst");
});

test("what is known of a service's requests is known of its steps and its bursts alike", () => {
  const service = serving(applicant({ class: "high", objective: parseObjective(["ttft.p99=1s"]) }));
  const seen = () => service.looks.flatMap(({ high }) => high);
  service.run("engine", 8);
  expect(service.high().unit).toBe("step");
  service.run("one burst back to back", 20);
  expect(service.high().unit).toBe("burst");
  expect(new Set(seen().map(({ inSteps }) => inSteps === true))).toEqual(new Set([false, true]));
  expect(new Set(seen().map(({ id }) => id)).size).toBe(1);
});

test("a reference of bursts and of steps judges neither", () => {
  const reference = { p99Us: 5000, waitedP99Us: 5000 };
  const byRequests = applicant({ class: "high", objective: parseObjective(["ttft.p99=1s"]) });
  const service = serving(byRequests, reference);
  const shown = () => [service.high().unit, service.high().alone, service.high().slowdown];
  service.run("one burst back to back", 5);
  expect(shown()).toEqual(["burst", reference, expect.any(Number)]);
  service.run("engine", 8, 2);
  expect(shown()).toEqual(["step", undefined, undefined]);
  service.run("one burst back to back", 20);
  expect(shown()).toEqual(["burst", undefined, undefined]);
});

test("bursts that nobody read in time are missing, and nothing is made of what is between", () => {
  const service = serving();
  service.run("engine", 8);
  const before = service.high().steps?.stepP50Us ?? 0;
  // More than the ring holds, before the next sample.
  writeBursts(service.slot, sequence(3000, sequences.engine, 5));
  service.run("engine", 4, 3);
  expect(service.high().unit).toBe("step");
  expect(service.high().steps?.stepP50Us).toBeCloseTo(before, -3);
});

test("records that say what cannot be are left out", () => {
  const service = serving();
  const noise = sequence(800, sequences.engine).map((burst, n) =>
    n % 2 === 0 ? burst : { ...burst, end: burst.begin - 5e9, waited: 1e18 },
  );
  writeBursts(service.slot, noise);
  service.run("one burst", 5);
  expect(service.high().steps).toBeUndefined();
});

test.each([2 ** 53, 2 ** 63, 2 ** 64 - 2048])(
  "a number of bursts that cannot be, %d, is left out",
  (bursts) => {
    const service = serving();
    service.slot.bursts = bursts;
    service.run("one burst", 1);
    expect(service.high().steps).toBeUndefined();
  },
);

test("bursts that end in a far future are left out, or their steps would be kept for ever", () => {
  const { slot } = serving();
  const ring = new BurstRing(slot);
  const bursts = sequence(100, sequences.engine);
  const last = bursts.at(-1)?.end ?? 0;
  const later = (ns: number) =>
    bursts.map(({ begin, end, ...rest }) => ({ ...rest, begin: begin + ns, end: end + ns }));
  ring.read(0);
  writeBursts(slot, bursts);
  writeBursts(slot, later(1e15));
  expect(ring.read(last)).toEqual({ bursts: [], gap: true });
  writeBursts(slot, later(last));
  expect(ring.read(2 * last).bursts).toHaveLength(100);
});
