import { expect, test } from "vitest";
import { whenActive } from "#protocol";
import type { Memory, Observed } from "../contract/policy.ts";
import { strict } from "../parameters/strict.ts";
import { policyNamed } from "./index.ts";

const seen = (isolated: boolean): Observed => ({
  isolated,
  high: [{ name: "high", burstP50Us: 4000 }],
});
const at = (level: number): Memory => ({ level, pausedUntilMs: undefined, clients: new Map() });
const { rules } = policyNamed("cotenant");
const levels = [0, 1, 2, 3, 4, 5, 6, 7, 8];

test.each([true, false])("level 0, and nothing known, are strict: isolated %s", (isolated) => {
  const strict = policyNamed("strict").rules(seen(isolated));
  expect(rules(seen(isolated))).toEqual(strict);
  expect(rules(seen(isolated), at(0))).toEqual(strict);
});

test("where contexts take turns the levels are those of slo", () => {
  for (const level of [0, 1, 2, 3, 4, 5])
    expect(rules(seen(true), at(level))).toEqual(policyNamed("slo").rules(seen(true), at(level)));
});

const besideGaps = (high: Observed["high"], level: number) =>
  rules({ isolated: true, high }, { ...at(level), about: "gaps" });

test("where contexts take turns and all services leave gaps, best-effort work goes on for half or nearly all of a burst, or until the program waits", () => {
  const of = besideGaps;
  const one = [{ name: "high", burstP50Us: 4000 }];
  const holds = (high: Observed["high"]) => [0, 1, 2, 3, 4].map((level) => of(high, level).graceUs);
  expect(holds(one)).toEqual([0, 2000, 3500, 10_000_000, 0]);
  expect(holds([])).toEqual(holds(one));
  const two = [4000, 800].map((burstP50Us) => ({ name: "high", burstP50Us }));
  expect(holds(two)).toEqual([0, 400, 700, 10_000_000, 0]);
  for (const level of [1, 2, 3])
    expect(of(one, level)).toMatchObject({ chunkUs: 120, resumeDelayUs: 150 });
  expect(of(one, 4)).toEqual(policyNamed("slo").rules(seen(true), at(5)));
});

test("parts of a burst are of its launches where they are known, and end a millisecond before its usual end", () => {
  const holds = (...bursts: readonly (readonly [us: number, launches: number])[]) =>
    [0, 1, 2, 3, 4].map((level) => {
      // None ended of late: what is known of earlier ones counts.
      const high = bursts.map(([us, launches]) => ({
        ...{ name: "high", burstP50Us: undefined, usualBurst: { launches, us } },
      }));
      const { graceUs, graceLaunches } = besideGaps(high, level);
      return [graceUs, graceLaunches];
    });
  const most = 10_000_000;
  const byLaunches = (half: number, nearlyAll: number) => [
    ...[
      [0, 0],
      [most, half],
      [most, nearlyAll],
      [most, 0],
      [0, 0],
    ],
  ];
  expect(holds([20_000, 1000])).toEqual(byLaunches(500, 950));
  expect(holds([4000, 1000])).toEqual(byLaunches(500, 875));
  expect(holds([20_000, 1000], [25_000, 400])).toEqual(byLaunches(200, 380));
  // Too few to be divided.
  const few = [0, 2000, 3500, most, 0];
  expect(holds([4000, 31])).toEqual(few.map((graceUs) => [graceUs, 0]));
});

test("under MPS and where all services leave gaps, chunks concurrent with requests come first", () => {
  for (const [level, beside] of [0, 5, 6, 7, 8].entries())
    expect(rules(seen(false), { ...at(level), about: "gaps" })).toEqual(
      rules(seen(false), at(beside)),
    );
});

test.each([
  ["take turns", true, 2000],
  ["share the GPU", false, 400],
])(
  "where contexts %s, best-effort work gets slices concurrent with requests if objectives are about requests alone",
  (_, isolated, us) => {
    const pace = { everyUs: 10_000, inPrefill: true, decodeUs: 5000, limitedBy: "tpot" } as const;
    const requests: Memory = { ...at(0), about: "requests" };
    const none = rules(seen(isolated), requests);
    expect(none).toEqual(strict.rules(seen(isolated)));
    expect(rules(seen(isolated), { ...requests, pace })).toEqual({
      ...{ ...none, coRunSliceUs: us, coRunEveryUs: 10_000 },
    });
    const decodes = rules(seen(isolated), { ...requests, pace: { ...pace, inPrefill: false } });
    expect(decodes.coRunUntilUs).toBe(6500 + us);
  },
);

test("where contexts take turns a chunk is 3, 6, 6, 12 and 24 % of a burst, and 2 ms at most", () => {
  const chunks = (burstP50Us: number) =>
    levels
      .filter((level) => level <= 5)
      .map((level) => rules({ isolated: true, high: [{ name: "high", burstP50Us }] }, at(level)))
      .map(({ chunkUs, chunkLaunches, resumeDelayUs }) => [chunkUs, chunkLaunches, resumeDelayUs]);
  expect(chunks(4000)).toEqual([
    [120, 16, 150],
    [240, 32, 150],
    [240, 32, 0],
    [480, 64, 0],
    [960, 128, 0],
    [2000, 128, 0],
  ]);
  expect(chunks(12_000)[4]).toEqual([2000, 128, 0]);
});

test("under MPS chunks of 3 % of a burst go beside requests, on the levels before the last", () => {
  const besides = levels.map((level) => rules(seen(false), at(level)));
  expect(besides.map(({ coRunEveryUs }) => coRunEveryUs)).toEqual([
    0, 0, 0, 0, 0, 960, 480, 240, 0,
  ]);
  expect(besides.slice(5, 8).map(({ chunkUs }) => chunkUs)).toEqual([120, 120, 120]);
  expect(besides.map((one) => one.whenActive === whenActive.allow)).toEqual(
    levels.map((level) => level === 8),
  );
});

test("beside trainings alone the last level is MPS with priorities and nothing else: what is queued needs no border", () => {
  for (const isolated of [true, false]) {
    const top = isolated ? 5 : 8;
    const training = { name: "train", burstP50Us: 1.6e6, training: true };
    const gates = (high: Observed["high"]) =>
      levels.slice(0, top + 1).map((level) => rules({ isolated, high }, at(level)).protect);
    expect(gates([training])).toEqual([...Array(top).fill(1), 0]);
    // Nothing is released by its duration any more, so none is timed.
    const last = rules({ isolated, high: [training] }, at(top));
    expect(last.sampleEvery).toBeGreaterThan(10 * rules({ isolated, high: [] }).sampleEvery);
    // A service among them is to be protected within its next request.
    expect(gates([training, { name: "serve", burstP50Us: 4000 }])).toEqual(Array(top + 1).fill(1));
  }
});

test("on every level the gate is kept, and work queued behind its words", () => {
  for (const isolated of [true, false])
    for (const level of levels)
      for (const observed of [seen(isolated), { isolated, high: [] }])
        expect(rules(observed, at(level))).toMatchObject({ protect: 1, submission: 0 });
});
