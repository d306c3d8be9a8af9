import { describe, expect, test } from "vitest";
import { mulberry32 } from "#core";
import {
  type Evidence,
  holds,
  holdsSoFar,
  holdsWithMargin,
  isBroken,
  noEvidence,
  withBursts,
} from "./evidence.ts";

/** Looks of `bursts` each, with this many of them above. */
const seenOf = (bursts: number, ...above: readonly number[]): Evidence =>
  above.reduce((evidence, n) => withBursts(evidence, bursts, n), noEvidence);

describe("an objective is broken", () => {
  test.each([
    { what: "3 of 3 above: one stumble", bursts: 3, above: [3], is: false },
    { what: "4 of 60 above in a second", bursts: 15, above: [1, 1, 1, 1], is: false },
    { what: "8 of 60 above in a second", bursts: 15, above: [2, 2, 2, 2], is: true },
    { what: "5 of 5 above", bursts: 5, above: [5], is: true },
    { what: "1 % above for long", bursts: 100, above: Array(50).fill(1), is: false },
    { what: "3 % above for long", bursts: 100, above: Array(20).fill(3), is: true },
    { what: "good for long, then bad", bursts: 60, above: [...Array(99).fill(0), 8], is: true },
  ])("$what: $is", ({ bursts, above, is }) => {
    expect(isBroken(seenOf(bursts, ...above))).toBe(is);
  });

  test("not by nothing", () => {
    expect(isBroken(noEvidence)).toBe(false);
  });

  test("not by a stumble after bursts that spoke for it, however many of those were above", () => {
    const good = seenOf(1000, 4);
    expect(isBroken(withBursts(good, 4, 4))).toBe(false);
    expect(isBroken(withBursts(good, 5, 5))).toBe(true);
  });

  test("by how much better a share of 2, 5 or 20 % explains the bursts than 1 % does", () => {
    const [two, five, twenty] = seenOf(100, 9).against;
    expect(two).toBeCloseTo(9 * Math.log(2) + 91 * Math.log(98 / 99));
    expect(five).toBeCloseTo(9 * Math.log(5) + 91 * Math.log(95 / 99));
    expect(twenty).toBeCloseTo(9 * Math.log(20) + 91 * Math.log(80 / 99));
    expect(seenOf(100, 9, 9).against[1]).toBeCloseTo(2 * (five ?? 0));
    expect(seenOf(100, 0).against).toEqual([0, 0, 0]);
  });

  test("seldom by chance: half of what is allowed is above, for 100,000 bursts", () => {
    const random = mulberry32(7);
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
    const random = mulberry32(8);
    let evidence = noEvidence;
    let bursts = 0;
    for (; bursts < 6000 && !isBroken(evidence); bursts++)
      evidence = withBursts(evidence, 1, random() < 0.02 ? 1 : 0);
    expect(bursts).toBeLessThan(6000);
  });
});

describe("there is room", () => {
  test.each([
    { what: "299 bursts are too few", bursts: 299, above: [0], room: false },
    { what: "none of 300 above", bursts: 300, above: [0], room: true },
    { what: "1 of 400 above", bursts: 400, above: [1], room: false },
    { what: "1 of 480 above", bursts: 480, above: [1], room: true },
    { what: "2 of 620 above", bursts: 620, above: [2], room: false },
    { what: "2 of 640 above", bursts: 640, above: [2], room: true },
    { what: "5 of 1,500 above", bursts: 1500, above: [5], room: true },
    { what: "10 of 1,000 above", bursts: 1000, above: [10], room: false },
    { what: "none of very many above", bursts: 1e9, above: [0, 0], room: true },
    { what: "0.9 % of very many above", bursts: 100_000, above: [900], room: true },
    { what: "0.99 % of very many above", bursts: 100_000, above: [990], room: false },
  ])("$what: $room", ({ bursts, above, room }) => {
    expect(holdsWithMargin(seenOf(bursts, ...above))).toBe(room);
  });

  test("holding needs no margin, and on the way back fewer bursts", () => {
    expect(holds(seenOf(1000, 10))).toBe(true);
    expect(holds(seenOf(1000, 11))).toBe(false);
    expect(holds(seenOf(300, 0))).toBe(true);
    expect(holds(seenOf(299, 0))).toBe(false);
    expect(holdsSoFar(seenOf(100, 1))).toBe(true);
    expect(holdsSoFar(seenOf(49, 0))).toBe(false);
    expect(holdsSoFar(seenOf(50, 0))).toBe(true);
    expect(holdsSoFar(seenOf(50, 1))).toBe(false);
  });
});

test("what was long ago is forgotten, and the share stays what it was", () => {
  const { bursts, above } = seenOf(100, ...Array(1000).fill(1));
  expect(bursts).toBeLessThan(4200);
  expect(bursts).toBeGreaterThan(2000);
  expect(above / bursts).toBeCloseTo(0.01);
});
