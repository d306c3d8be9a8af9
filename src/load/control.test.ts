import { expect, test } from "vitest";
import { followPhases, type Part, type Phase, type PhaseContext } from "./control.ts";

const job = "high";
const ms = (ns: number) => Math.round(ns / 1e6);

/**
 * A bench that changes the phase at set times, and a server that takes time to serve. Both use one clock. A pid maps to
 * the ms at which its process dies.
 */
function bench(script: Readonly<Record<number, Partial<Phase>>>, serviceMs = 4, stopAfter = 0) {
  let now = 0;
  let looks = 0;
  const said: string[] = [];
  const answers: Record<string, Record<string, unknown>> = {};
  const stop = { aborted: false };
  const phases = Object.entries(script).map(([atMs, phase], id) => ({
    atMs: Number(atMs),
    phase: { id, start_ns: 0, seconds: 0, jobs: {}, quit: false, ...phase },
  }));
  const current = () => phases.filter(({ atMs }) => atMs * 1e6 <= now).at(-1)?.phase;
  const context: PhaseContext = {
    name: job,
    files: {
      mark() {
        looks++;
        return current() && `${current()?.id}`;
      },
      phase: () => JSON.stringify(current()),
      alive: (pid) => now < pid * 1e6,
      write: (file, text) => {
        answers[file] = { ...JSON.parse(text), atMs: ms(now) };
      },
    },
    // A sample moves the clock by 1 us, so that spinning ends.
    clock: {
      now: () => (now += 1000),
      sleep: async (duration) => {
        now += Math.max(duration * 1e6, 1000);
      },
    },
    stop,
    depth: 1,
    readText: (path) => path.split(" ").join("\n"),
    announcer: () => (us) => void said.push(`${us} us at ${ms(now)}`),
  };
  const server = {
    submit() {},
    wait() {
      now += serviceMs * 1e6;
      if (--stopAfter === 0) stop.aborted = true;
    },
  };
  const follow = () => followPhases(server, context);
  return { follow, answers, said, looks: () => looks };
}

const arriving = (ns: readonly number[], part: Part = {}): Phase["jobs"] => ({
  [job]: { arrivals: ns.join(" "), ...part },
});

const inMs = (times: unknown) => (times as number[]).map(ms);

test("arrivals of a phase count from its start, and the job answers when all are served", async () => {
  const { follow, answers } = bench({
    0: { start_ns: 50e6, jobs: arriving([0, 10e6, 11e6]) },
    100: { quit: true },
  });
  await follow();
  const answer = answers["high.0.json"];
  expect(inMs(answer?.arrival_ns)).toEqual([50, 60, 61]);
  expect(inMs(answer?.latency_ns)).toEqual([4, 4, 7]);
  expect(inMs(answer?.service_ns)).toEqual([4, 4, 4]);
  expect(answer).toMatchObject({ id: 0, atMs: 68 });
  expect(Object.keys(answers)).toEqual(["high.0.json"]);
});

test("a job whose bench was killed leaves, also from a closed loop", async () => {
  const { follow, answers } = bench({ 0: { pid: 3000, jobs: { [job]: {} } } });
  await follow();
  const { atMs } = answers["high.0.json"] ?? {};
  expect(atMs).toBeGreaterThan(2000);
  expect(atMs).toBeLessThan(4100);
});

test("an open loop is cut short by the next phase, even while no request comes", async () => {
  const { follow, answers } = bench({
    0: { jobs: arriving([10e6, 500e6]) },
    40: { jobs: {} },
    60: { quit: true },
  });
  await follow();
  expect(inMs(answers["high.0.json"]?.arrival_ns)).toEqual([10]);
  expect(answers["high.0.json"]?.atMs).toBeLessThanOrEqual(46);
});

test("a closed loop begins with its phase and ends soon after it", async () => {
  const { follow, answers, looks } = bench(
    { 20: { jobs: { [job]: {} } }, 70: { jobs: { other: {} } }, 90: { quit: true } },
    0.1,
  );
  await follow();
  const done = answers["high.0.json"]?.done_ns as number[];
  expect(done.length).toBeGreaterThan(400);
  expect(ms(done[0] ?? 0)).toBeLessThanOrEqual(23);
  expect(ms(done.at(-1) ?? 0)).toBeGreaterThanOrEqual(69);
  expect(ms(done.at(-1) ?? 0)).toBeLessThanOrEqual(76);
  // Every 2 ms without work, every 5 ms with it.
  expect(looks()).toBeLessThan(40 / 2 + 50 / 5 + 5);
});

test("a loop with iterations longer than a sample ends after the current iteration", async () => {
  const { follow, answers } = bench({ 0: { jobs: { [job]: {} } }, 70: { quit: true } }, 50);
  await follow();
  expect(inMs(answers["high.0.json"]?.done_ns)).toEqual([50, 100]);
});

test("requests are announced as long before their arrival as requested", async () => {
  const { follow, said } = bench({
    0: { jobs: arriving([10e6, 30e6], { announce_us: 2000 }) },
    50: { quit: true },
  });
  await follow();
  expect(said).toEqual([
    expect.stringMatching(/^249\d us at 8$/),
    expect.stringMatching(/^249\d us at 28$/),
  ]);
});

test("a job that is stopped answers with the requests so far", async () => {
  const { follow, answers } = bench({ 0: { jobs: arriving([10e6, 20e6, 30e6]) } }, 15, 2);
  await follow();
  expect(inMs(answers["high.0.json"]?.arrival_ns)).toEqual([10, 20]);
});
