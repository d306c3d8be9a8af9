// Limits of a policy's own: a budget, and a rate of launches.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { admit, dueAfter, type GateView, type Rules, spentAfter, strict } from "./library.ts";

describe("a budget, Orion's", () => {
  const budget: Rules = { ...strict, isolated: 0, budgetUs: 100 };
  test("is looked at before the kernel is added, active request or not", () => {
    expect(admit(budget, { spentUs: 100, kernelsOut: 3, aheadUs: 100 }, { expectedUs: 5000 })).toBe(
      "run",
    );
    expect(admit(budget, { spentUs: 101, kernelsOut: 3, aheadUs: 101 }, { expectedUs: 1 })).toBe(
      "ahead",
    );
  });

  test("is full until the last kernel has ended, then empty", () => {
    const spent = (seen: Partial<GateView>, us: number) => spentAfter(budget, seen, us);
    expect(admit(budget, { spentUs: 101, kernelsOut: 0 })).toBe("run");
    expect(spent({ spentUs: 101, kernelsOut: 0 }, 30)).toBe(30);
    expect(spent({ spentUs: 100, kernelsOut: 0 }, 30)).toBe(130);
    expect(spent({ spentUs: 60, kernelsOut: 2 }, 30)).toBe(90);
  });

  test("lets out no more than itself and one kernel, whatever the durations", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 100 }), (durations) => {
        let spentUs = 0;
        let kernelsOut = 0;
        for (const us of durations) {
          const seen = { spentUs, kernelsOut, aheadUs: spentUs };
          if (admit(budget, seen, { expectedUs: us }) !== "run") {
            kernelsOut = 0;
            continue;
          }
          spentUs = spentAfter(budget, seen, us);
          kernelsOut++;
          expect(spentUs).toBeLessThanOrEqual(100 + us);
        }
      }),
    );
  });
});

describe("a rate of launches", () => {
  const paced: Rules = { ...strict, isolated: 0, launchEveryNs: 50_000, chunkUs: 20_000 };
  const due = (dueNs: number, nowNs: number) => dueAfter(paced, dueNs, nowNs);

  test("a launch that is not due yet waits", () => {
    expect(admit(paced, { earlyNs: 1 })).toBe("paced");
    expect(admit(paced, { earlyNs: 0 })).toBe("run");
    expect(admit({ ...paced, launchEveryNs: 0 }, { earlyNs: 1 })).toBe("run");
  });

  test("over a second there are as many as the rate allows, and those of a millisecond", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 3_000_000 }), { minLength: 500, maxLength: 900 }),
        (pauses) => {
          let now = 5e9;
          let dueNs = 0;
          let launched = 0;
          const from = now;
          for (const pause of pauses) {
            now += pause;
            while (dueNs <= now) {
              dueNs = due(dueNs, now);
              launched++;
            }
          }
          expect(launched).toBeLessThanOrEqual((now - from + 1e6) / 50_000 + 2);
        },
      ),
      { numRuns: 10 },
    );
  });
});
