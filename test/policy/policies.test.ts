import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { millis } from "#core";
import { allPolicies } from "#policies";
import { type Memory, type Observed, parseOverrides, policyNamed, withOverrides } from "#policy";
import {
  bucketCount,
  rules as described,
  oldRuleNames,
  parseRule,
  type Rules,
  ruleNames,
  usualRules,
} from "#protocol";

const seen = (...bursts: (number | undefined)[]): Observed => ({
  isolated: true,
  high: bursts.map((burstP50Us, i) => ({ name: `high ${i}`, burstP50Us })),
});

/** `up --set` would refuse a value outside its range, and the gate would clamp it. */
function expectInRange(rules: Rules): void {
  expect(Object.keys(rules)).toEqual(ruleNames);
  for (const name of ruleNames)
    expect([name, parseRule(described[name], String(rules[name]))]).toEqual([name, rules[name]]);
}

/** Invariants of every policy of the product and of the laboratory, whatever it observes. */
describe.each(allPolicies)("$name", (policy) => {
  const strange = [seen(), seen(undefined), seen(0), seen(1e12), seen(0.001, undefined, 1e9)];

  test("gives every rule a value in its range", () => {
    for (const observed of strange) expectInRange(policy.rules(observed));
  });

  test("has a row in the guide", () => {
    expect(readFileSync("docs/guide/policies.md", "utf8")).toMatch(
      new RegExp(`^\\| \`${policy.name}\`[^|]*\\|`, "m"),
    );
  });

  test("lets no pause last for ever", () => {
    for (const observed of strange) {
      const rules = policy.rules(observed);
      expect(rules.progressAfterUs).toBeGreaterThan(0);
      expect(rules.progressEveryUs).toBeGreaterThan(0);
      expect(rules.chunkUs).toBeGreaterThan(0);
    }
  });

  test("keeps to that whatever it has seen, and changes nothing that it is given", () => {
    const someCounts = fc.option(
      fc
        .array(fc.tuple(fc.nat(bucketCount - 1), fc.integer({ min: 1, max: 2 ** 32 - 1 })), {
          maxLength: 4,
        })
        .map((pairs) => {
          const counts = new Uint32Array(bucketCount);
          for (const [bucket, n] of pairs) counts[bucket] = pairs.length > 2 ? n : n % 500;
          return counts;
        }),
      { nil: undefined },
    );
    const high = fc.record({
      id: fc.constantFrom("a", "b", "c"),
      name: fc.constant("high"),
      burstP50Us: fc.option(fc.double({ min: 0, max: 1e9, noNaN: true }), { nil: undefined }),
      objective: fc.option(
        fc.record({
          p99Us: fc.option(fc.integer({ min: 1, max: 1e6 }), { nil: undefined }),
          slowdown: fc.option(fc.double({ min: 0.001, max: 10, noNaN: true }), { nil: undefined }),
        }),
        { nil: undefined, freq: 20 },
      ),
      ended: someCounts,
      waited: someCounts,
    });
    const oneLook = fc.record({
      isolated: fc.boolean(),
      high: fc.uniqueArray(high, { selector: ({ id }) => id, maxLength: 3 }),
      colocated: fc.boolean(),
      forMs: fc.integer({ min: 0, max: 20_000 }),
    });
    fc.assert(
      fc.property(fc.array(oneLook, { maxLength: 60 }), (looks) => {
        let memory: Memory | undefined;
        let nowMs = 0;
        for (const { forMs, ...look } of looks) {
          nowMs += forMs;
          const before = structuredClone(memory);
          const next = policy.remember?.({ ...look, nowMs: millis(nowMs) }, memory);
          expect(memory).toEqual(before);
          expect(policy.remember?.({ ...look, nowMs: millis(nowMs) }, memory)).toEqual(next);
          memory = next;
          const rules = policy.rules(look, memory);
          expectInRange(rules);
          expect(rules.progressAfterUs * rules.progressEveryUs * rules.chunkUs).toBeGreaterThan(0);
          // A learner's pause ends, and somebody without an objective is never worse off than under strict.
          expect((memory?.pausedUntilMs ?? nowMs) - nowMs).toBeLessThanOrEqual(10_000);
          if (look.high.some(({ objective }) => !objective)) expect(memory?.level ?? 0).toBe(0);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("says whether contexts take turns", () => {
    expect(policy.rules({ isolated: true, high: [] }).isolated).toBe(1);
    expect(policy.rules({ isolated: false, high: [] }).isolated).toBe(0);
  });

  test("decides the same when it sees the same", () => {
    expect(policy.rules(seen(3000))).toEqual(policy.rules(seen(3000)));
  });
});

test("strict gates, off does not", () => {
  expect(policyNamed("strict").rules(seen()).protect).toBe(1);
  expect(policyNamed("off").rules(seen()).protect).toBe(0);
});

test.each([
  { name: "nobody to protect yet", bursts: [], chunkUs: 200 },
  { name: "a client without a burst", bursts: [undefined], chunkUs: 200 },
  { name: "a burst of 3.3 ms", bursts: [3300], chunkUs: 99 },
  { name: "the shortest of three", bursts: [9000, 5000, undefined], chunkUs: 150 },
  { name: "a very short burst", bursts: [200], chunkUs: 50 },
  { name: "a very long burst", bursts: [150_000], chunkUs: 400 },
])("a strict chunk is 3 % of the shortest burst, within bounds: $name", ({ bursts, chunkUs }) => {
  expect(policyNamed("strict").rules(seen(...bursts)).chunkUs).toBe(chunkUs);
});

test.each<{
  readonly name: string;
  readonly isolated: boolean;
  readonly bursts: readonly (number | undefined)[];
  readonly byTime?: number;
  readonly renewUs: number;
}>([
  { name: "nobody to protect yet", isolated: true, bursts: [], renewUs: 0 },
  { name: "a client without a burst", isolated: true, bursts: [undefined], renewUs: 0 },
  { name: "shorter ones", isolated: true, bursts: [1300, 2000], renewUs: 0 },
  { name: "one as long", isolated: true, bursts: [2100], renewUs: 0 },
  { name: "a longer one", isolated: true, bursts: [1300, 3200], renewUs: 1200 },
  { name: "side by side", isolated: false, bursts: [3200], renewUs: 0 },
  { name: "most time in long ones", isolated: true, bursts: [36], byTime: 18_000, renewUs: 1200 },
])("strict begins time slices anew where a burst is longer than one: $name", (one) => {
  const { isolated, bursts, byTime, renewUs } = one;
  const high = seen(...bursts).high.map((client) => ({ ...client, burstByTimeUs: byTime }));
  const rules = policyNamed("strict").rules({ isolated, high });
  expect(rules.renewUs).toBe(renewUs);
});

test("the strict parameter table", () => {
  expect(policyNamed("strict").rules(seen())).toMatchInlineSnapshot(`
    {
      "activeAheadUs": 0,
      "budgetUs": 0,
      "chunkLaunches": 16,
      "chunkUs": 200,
      "coRunEveryUs": 0,
      "coRunSliceUs": 0,
      "coRunUntilLaunches": 0,
      "coRunUntilUs": 0,
      "copyPieceBytes": 2097152,
      "graceLaunches": 0,
      "graceUs": 0,
      "graphGates": 2,
      "isolated": 1,
      "kernelsOut": 0,
      "launchEveryNs": 0,
      "maxKernelUs": 0,
      "paused": 0,
      "preemptUs": 200,
      "progressAfterUs": 250000,
      "progressEveryUs": 10000,
      "protect": 1,
      "quantumUs": 5000,
      "renewUs": 0,
      "resumeDelayUs": 150,
      "sampleEvery": 64,
      "smLimit": 0,
      "splitProductsUs": 200,
      "startupTimeoutUs": 250000,
      "submission": 0,
      "submitLaunches": 700,
      "submitUs": 10000,
      "unknownUs": 5000,
      "wantKernels": 0,
      "whenActive": 0,
    }
  `);
});

test("an unknown policy is refused with the known ones", () => {
  expect(() => policyNamed("fair")).toThrow('No policy is called "fair".');
});

describe("rules set by hand", () => {
  test("go over the policy's", () => {
    const overrides = parseOverrides(["chunkUs=100", "submission=launch", "chunkUs=120"]);
    expect(overrides).toEqual({ chunkUs: 120, submission: 1 });
    expect(parseOverrides(["graphGates=nodes"])).toEqual({ graphGates: 1 });
    expect(parseOverrides(["graphGates=2"])).toEqual({ graphGates: 2 });
    expect(withOverrides(policyNamed("strict").rules(seen(3300)), overrides)).toMatchObject({
      chunkUs: 120,
      submission: 1,
      submitUs: 10_000,
    });
  });

  test.each(Object.entries(oldRuleNames))("%s is still %s, with a note", (old, name) => {
    const value = usualRules[name] || 1;
    const notes: string[] = [];
    expect(parseOverrides([`${old}=${value}`], (note) => notes.push(note))).toEqual({
      [name]: value,
    });
    expect(notes).toEqual([
      `--set ${old} is called ${name} now. The former name works in this version only.`,
    ]);
  });

  test.each([
    { text: "chunk=1", message: 'No rule is called "chunk".' },
    { text: "chunkUs", message: "--set chunkUs: not a whole number from 20 to 20,000 (us)." },
    {
      text: "chunkUs=1=2",
      message: "--set chunkUs=1=2: not a whole number from 20 to 20,000 (us).",
    },
    { text: "chunkUs=1 ", message: "--set chunkUs=1 : not a whole number from 20 to 20,000 (us)." },
    { text: "chunkUs=-1", message: "--set chunkUs=-1: not a whole number from 20 to 20,000 (us)." },
    {
      text: "chunkUs=4294967296",
      message: "--set chunkUs=4294967296: not a whole number from 20 to 20,000 (us).",
    },
    {
      text: "renewUs=100",
      message: "--set renewUs=100: not a whole number of at least 200 (us), or 0: never.",
    },
    {
      text: "submission=shallow",
      message: "--set submission=shallow: not one of deep (0), launch (1).",
    },
    {
      text: "graphGates=3",
      message: "--set graphGates=3: not one of none (0), nodes (1), parts (2).",
    },
    {
      text: "submission=constructor",
      message: "--set submission=constructor: not one of deep (0), launch (1).",
    },
  ])("$text is wrong use", ({ text, message }) => {
    expect(() => parseOverrides([text])).toThrow(message);
  });
});
