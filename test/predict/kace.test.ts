// KACE's published measurements, where they are: COTENANT_DATA, else beside the repository.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mulberry32, shuffle } from "#core";
import { choose, ofOracle, predictedScore } from "#evaluation";
import { accuracyOf, learners, meanOf } from "#predict";
import { kaceNames } from "#profile";
import { dataFolder } from "../../bench/data.ts";
import { isConsistent, kacePairs, kaceShares, kaceTrainingRows } from "../../bench/predict/kace.ts";

const there = existsSync(join(dataFolder, "kace"));
if (!there) console.warn(`Skipped: KACE's measurements are not in ${dataFolder}.`);

describe.skipIf(!there)("KACE's measurements", () => {
  const rows = there ? kacePairs() : [];
  const { ours } = learners;

  test("are the rows that were published", () => {
    expect(rows).toHaveLength(181);
    expect(rows.filter(isConsistent)).toHaveLength(102);
    expect(new Set(rows.flatMap(({ names }) => names)).size).toBe(21);
    expect(kaceTrainingRows(rows).size).toBe(30);
    const { all, consistent } = kaceShares();
    expect([all, consistent.length]).toEqual([908, 873]);
  });

  test("are predicted from a fifth of them", () => {
    const reached = [0, 1, 2, 3].map((seed) => {
      const learned = shuffle(rows, mulberry32(seed)).slice(0, 36);
      const predictor = ours.open(ours.train(learned, kaceNames), kaceNames);
      return ofOracle(choose(rows, predictedScore(predictor, "throughput"), "throughput"));
    });
    expect(meanOf(reached)).toBeGreaterThan(0.92);
  });

  test("are predicted within the bounds that are stated", () => {
    const mixed = shuffle(rows.filter(isConsistent), mulberry32(1));
    const predictor = ours.open(ours.train(mixed.slice(0, 40), kaceNames), kaceNames);
    const { error, covered } = accuracyOf(mixed.slice(40), predictor);
    expect(error).toBeLessThan(0.1);
    expect(covered).toBeGreaterThan(0.75);
  });
});
