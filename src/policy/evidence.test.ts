import { describe, expect, test } from "vitest";
import {
  type Evidence,
  holds,
  holdsSoFar,
  holdsWithMargin,
  isBroken,
  noEvidence,
  withBursts,
} from "./evidence.ts";
import { seeded } from "./plant.ts";

/** Looks of `bursts` each, with so many of them above. */
const seenOf = (bursts: number, ...above: readonly number[]): Evidence =>
  above.reduce((evidence, n) => withBursts(evidence, bursts, n), noEvidence);

describe("an objective is broken", () => {
  test.each([
    { what: "nothing seen", evidence: noEvidence, is: false },
    { what: "3 of 3 above: one stumble", evidence: seenOf(3, 3), is: false },
    { what: "4 of 60 above in a second", evidence: seenOf(15, 1, 1, 1, 1), is: false },
    { what: "8 of 60 above in a second", evidence: seenOf(15, 2, 2, 2, 2), is: true },
    { what: "5 of 5 above", evidence: seenOf(5, 5), is: true },
    { what: "1 % above for long", evidence: seenOf(100, ...Array(50).fill(1)), is: false },
    { what: "3 % above for long", evidence: seenOf(100, ...Array(20).fill(3)), is: true },
    { what: "good for long, then bad", evidence: seenOf(60, ...Array(99).fill(0), 8), is: true },
  ])("$what: $is", ({ evidence, is }) => {
    expect(isBroken(evidence)).toBe(is);
  });

  test("seldom by chance: half of what is allowed is above, for 100,000 bursts", () => {
    const random = seeded(7);
    let evidence = noEvidence;
    let alarms = 0;
    for (let i = 0; i < 100_000; i++) {
      evidence = withBursts(evidence, 1, random() < 0.005 ? 1 : 0);
      if (!isBroken(evidence)) continue;
      alarms++;
      evidence = noEvidence;
    }
    expect(alarms).toBeLessThanOrEqual(2);
  });

  test("soon, where 2 % are above", () => {
    const random = seeded(8);
    let evidence = noEvidence;
    let bursts = 0;
    for (; !isBroken(evidence); bursts++)
      evidence = withBursts(evidence, 1, random() < 0.02 ? 1 : 0);
    expect(bursts).toBeLessThan(6000);
  });
});

describe("there is room", () => {
  test.each([
    { what: "299 bursts are too few", evidence: seenOf(299, 0), room: false },
    { what: "none of 300 above", evidence: seenOf(300, 0), room: true },
    { what: "1 of 400 above", evidence: seenOf(400, 1), room: false },
    { what: "1 of 480 above", evidence: seenOf(480, 1), room: true },
    { what: "5 of 1,500 above", evidence: seenOf(1500, 5), room: true },
    { what: "10 of 1,000 above", evidence: seenOf(1000, 10), room: false },
    { what: "none of very many above", evidence: seenOf(1e9, 0, 0), room: true },
    { what: "0.99 % of very many above", evidence: seenOf(100_000, 990), room: false },
  ])("$what: $room", ({ evidence, room }) => {
    expect(holdsWithMargin(evidence)).toBe(room);
  });

  test("holding needs no margin, and on the way back fewer bursts", () => {
    expect(holds(seenOf(1000, 10))).toBe(true);
    expect(holds(seenOf(1000, 11))).toBe(false);
    expect(holdsSoFar(seenOf(50, 0))).toBe(true);
    expect(holdsSoFar(seenOf(50, 1))).toBe(false);
  });
});

test("what was long ago is forgotten", () => {
  const { bursts } = seenOf(100, ...Array(1000).fill(0));
  expect(bursts).toBeLessThan(4200);
});
