import fc from "fast-check";
import { expect, test } from "vitest";
import { turnShares } from "./turn-shares.ts";

const sharers = (...of: readonly (readonly [job: string, share: number])[]) =>
  turnShares(of.map(([job, share]) => ({ job, share })));

test("jobs of one process keep the shares of their grants", () => {
  expect(sharers(["a", 1], ["b", 3], ["c", 2])).toEqual([1, 3, 2]);
});

test("a job of several processes has the turns of one", () => {
  expect(sharers(["a", 1], ["b", 1], ["b", 1])).toEqual([2, 1, 1]);
  expect(sharers(["a", 1], ["b", 2], ["b", 2], ["c", 1], ["c", 1], ["c", 1])).toEqual([
    ...[6, 6, 6, 2, 2, 2],
  ]);
  expect(sharers(["a", 1], ["a", 1])).toEqual([1, 1]);
});

test("whatever jobs there are, turns are within the bounds and a job of several gets what one of one process gets", () => {
  const jobs = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 16 });
  fc.assert(
    fc.property(jobs, (names) => {
      const shares = sharers(...names.map((job): [string, number] => [job, 1]));
      expect(shares.every((share) => share > 0 && share <= 100)).toBe(true);
      const ofJob = (job: string) =>
        shares.reduce((sum, share, i) => sum + (names[i] === job ? share : 0), 0);
      const sums = [...new Set(names)].map(ofJob);
      if (!shares.includes(100)) expect(new Set(sums).size).toBe(1);
    }),
  );
});
