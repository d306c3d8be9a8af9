// Decisions of the gate: release, admission, and the end of a chunk; properties over all inputs.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  admit,
  anyItem,
  anySettings,
  anyView,
  closes,
  type GateView,
  hasRoom,
  type Rules,
  release,
  strict,
} from "./library.ts";

describe("what is released", () => {
  test.each<{ name: string; rules?: Rules; seen?: Partial<GateView>; answer: string }>([
    { name: "an idle GPU is free", answer: "run" },
    { name: "an active request holds", seen: { highActive: true }, answer: "high" },
    {
      name: "nobody to protect: no hold",
      seen: { highActive: true, highRegistered: false },
      answer: "run",
    },
    {
      name: "policy off: no hold",
      rules: { protect: 0 },
      seen: { highActive: true },
      answer: "run",
    },
    { name: "a pause holds an idle GPU", rules: { paused: 1 }, answer: "paused" },
    { name: "another's turn", seen: { myTurn: false }, answer: "turn" },
    {
      name: "side by side there are no turns",
      rules: { isolated: 0 },
      seen: { myTurn: false },
      answer: "run",
    },
    {
      name: "just after a request, with a resume delay",
      rules: { resumeDelayUs: 100 },
      seen: { idleUs: 99 },
      answer: "high",
    },
    {
      name: "the resume delay is over",
      rules: { resumeDelayUs: 100 },
      seen: { idleUs: 100 },
      answer: "run",
    },
    {
      name: "a long pause makes minimum progress",
      seen: { highActive: true, heldUs: 250_000, progressedUs: 10_000 },
      answer: "progress",
    },
    {
      name: "but not twice within the interval",
      seen: { highActive: true, heldUs: 250_000, progressedUs: 9_999 },
      answer: "high",
    },
  ])("$name", ({ rules, seen, answer }) => {
    expect(release({ ...strict, ...rules }, seen ?? {})).toBe(answer);
  });

  test("whatever the table says, a pause of a second and minimum progress a second old let work go on", () => {
    fc.assert(
      fc.property(anySettings, anyView, (rules, seen) => {
        const long = { ...seen, heldUs: 1_000_000, progressedUs: 1_000_000 };
        expect(["run", "progress"]).toContain(release(rules, long));
      }),
    );
  });

  test("and so does every launch, unless it is not due or others must end first", () => {
    fc.assert(
      fc.property(anySettings, anyView, anyItem, (rules, seen, item) => {
        const long = { ...seen, heldUs: 1_000_000, progressedUs: 1_000_000, earlyNs: 0 };
        const nothingOut = { ...long, aheadUs: 0, kernelsOut: 0 };
        expect(["run", "progress"]).toContain(admit(rules, nothingOut, item));
      }),
    );
  });

  test("nothing runs beside an active request under `wait`, except minimum progress", () => {
    fc.assert(
      fc.property(anyView, anyItem, (seen, item) => {
        const beside = { ...seen, highRegistered: true, highActive: true };
        expect(admit(strict, beside, item)).not.toBe("run");
      }),
    );
  });
});

describe("what is admitted, launch by launch", () => {
  test("queued-ahead work never passes the limit once something is out", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), fc.nat({ max: 1000 }), (aheadUs, us) => {
        const goes = admit(strict, { aheadUs }, { expectedUs: us }) === "run";
        expect(goes).toBe(aheadUs + us <= 200);
      }),
    );
  });

  test("the longest kernel goes when nothing is out, and an unknown one only then", () => {
    expect(admit(strict, { aheadUs: 0 }, { expectedUs: 50_000 })).toBe("run");
    expect(admit(strict, { aheadUs: 0 }, { known: false })).toBe("run");
    expect(admit(strict, { aheadUs: 1 }, { expectedUs: 1, known: false })).toBe("ahead");
  });
});

describe("where a chunk ends", () => {
  test("a chunk of more than one launch never exceeds the limits", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 400 }), { minLength: 1, maxLength: 200 }), (durations) => {
        let us = 0;
        let launches = 0;
        for (const each of durations) {
          if (closes(strict, us, launches, { expectedUs: each })) [us, launches] = [0, 0];
          us += each;
          launches++;
          expect(launches === 1 || us <= 200).toBe(true);
          expect(launches).toBeLessThanOrEqual(16);
        }
      }),
      { numRuns: 50 },
    );
  });

  test("an unknown kernel stands alone", () => {
    expect(closes(strict, 10, 1, { expectedUs: 10, known: false })).toBe(true);
    expect(closes(strict, 0, 0, { expectedUs: 10, known: false })).toBe(false);
  });
});

test.each([
  { launches: 699, ns: 9_999_999, rules: strict, room: true },
  { launches: 700, ns: 0, rules: strict, room: false },
  { launches: 0, ns: 10_000_000, rules: strict, room: false },
  // Forced into the range in which a driver's queue has room, and a wait is short.
  { launches: 799, ns: 0, rules: { ...strict, submitLaunches: 5000 }, room: true },
  { launches: 800, ns: 0, rules: { ...strict, submitLaunches: 5000 }, room: false },
  { launches: 0, ns: 99_999, rules: { ...strict, submitUs: 1 }, room: true },
  { launches: 0, ns: 100_000_000, rules: { ...strict, submitUs: 1_000_000 }, room: false },
])("behind the pause flag $launches launches of $ns ns leave room: $room", (given) => {
  expect(hasRoom(given.rules, given.launches, given.ns)).toBe(given.room);
});
