import { expect, test } from "vitest";
import { mulberry32 } from "#core";
import { accuracyOf, type Colocation, type Features, regressors } from "#predict";
import { bestOf, choose, fitOf, ofOracle, regret } from "./evaluate.ts";
import { listScore, popularity, predictedScore, regressedScore, rules, worthOf } from "./scores.ts";

const a: Features = { soloThroughput: 10, memoryGB: 1, smBusy: 90, memoryBusy: 5 };
const b: Features = { soloThroughput: 100, memoryGB: 2, smBusy: 20, memoryBusy: 50 };
const c: Features = { soloThroughput: 20, memoryGB: 9, smBusy: 50, memoryBusy: 1 };
const pair = (x: Features, keptX: number, y: Features, keptY: number): Colocation => ({
  sides: [
    { features: x, retained: keptX, smShare: 1 },
    { features: y, retained: keptY, smShare: 1 },
  ],
});
const ab = pair(a, 0.5, b, 0.5);
const ac = pair(a, 0.9, c, 0.8);
const bc = pair(b, 0.3, c, 0.9);
const aa = pair(a, 0.4, a, 0.4);
const rows = [ab, ac, bc, aa];

test("the worth of a colocation is a sum of throughputs or of retained throughputs", () => {
  expect(rows.map((row) => worthOf(row, "throughput"))).toEqual([55, 25, 48, 8]);
  expect(worthOf(ac, "retained")).toBeCloseTo(1.7);
});

test("each target takes the highest score; the oracle's fraction is 1", () => {
  const oracle = choose(rows, (row) => worthOf(row, "throughput"), "throughput");
  expect(oracle.map(({ chosen }) => chosen)).toEqual([55, 55, 48]);
  expect(ofOracle(oracle)).toBe(1);
  expect(regret(oracle)).toBe(0);
  const worst = choose(rows, (row) => -worthOf(row, "throughput"), "throughput");
  expect(worst.map(({ chosen }) => chosen)).toEqual([8, 48, 25]);
  expect(ofOracle(worst)).toBeCloseTo((8 / 55 + 48 / 55 + 25 / 48) / 3);
  expect(regret(worst)).toBeCloseTo((47 + 7 + 23) / 3);
  expect(oracle[0]?.mean).toBeCloseTo((55 + 25 + 8) / 3);
});

test.each([
  { rule: "memcap", chosen: [8, 55, 25] },
  { rule: "sm%", chosen: [8, 55, 25] },
  { rule: "mem%", chosen: [25, 48, 25] },
] as const)("$rule looks at the partner, not at the target", ({ rule, chosen }) => {
  expect(choose(rows, rules[rule], "throughput").map((one) => one.chosen)).toEqual(chosen);
});

test("the best of the rules is the best for each target", () => {
  const each = Object.values(rules).map((rule) => choose(rows, rule, "throughput"));
  expect(bestOf(each).map(({ chosen }) => chosen)).toEqual([25, 55, 25]);
});

test("a list of partners is the same for every target", () => {
  const list = listScore(popularity(rows, "throughput"));
  // b is in the most valuable colocations, and c in the next.
  expect(choose(rows, list, "throughput").map(({ chosen }) => chosen)).toEqual([55, 48, 48]);
});

test("fit and accuracy of known errors", () => {
  expect(fitOf(rows, (row) => worthOf(row, "retained") + 1, "retained").rmse).toBeCloseTo(1);
  expect(fitOf(rows, (row) => worthOf(row, "retained"), "retained").r2).toBe(1);
  const half = {
    predict: () => ({ retained: 0.5, uncertainty: 0.1, low: 0.4, high: 0.6, familiar: true }),
  };
  const { error, covered, width } = accuracyOf([ab, bc], half);
  expect([error, covered, width].map((one) => one.toFixed(3))).toEqual(["0.150", "0.500", "0.200"]);
  expect(predictedScore(half, "throughput")(ab, a)).toBe(55);
});

test("a score regressed on the whole colocation does not use retained throughputs", () => {
  const metrics = ["soloThroughput", "smBusy"] as const;
  const score = regressedScore(regressors.linear(), rows, metrics, "retained", mulberry32(1));
  expect(score(pair(a, 0, b, 0), a)).toBe(score(ab, a));
});
