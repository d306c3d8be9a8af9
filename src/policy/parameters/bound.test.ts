import { expect, test } from "vitest";
import { us } from "#core";
import { type Rules, submission, usualRules, whenActive } from "#protocol";
import { policyNamed } from "../policies/index.ts";
import { isBoundable, withinShare } from "./bound.ts";

const high = [{ name: "serve", burstP50Us: 4000 }];
const mps = { isolated: false, smCount: 132, high };
const isolated = { ...mps, isolated: true };
const rulesWith = (change: Partial<Rules>): Rules => ({ ...usualRules, isolated: 0, ...change });
const launching = (change: Partial<Rules>) =>
  rulesWith({ submission: submission.launch, ...change });

test.each([
  ["strict", mps, true],
  ["strict", isolated, true],
  ["off", mps, false],
] as const)(
  "the rules of %s are not changed, and it is known whether they could be",
  (name, seen, can) => {
    const rules = policyNamed(name).rules(seen);
    expect(withinShare(rules, 0.1, seen)).toBe(rules);
    expect(isBoundable(rules, seen)).toBe(can);
  },
);

test("of two limits on SMs the smaller holds", () => {
  const allow = launching({ whenActive: whenActive.allow });
  expect(withinShare(allow, 0.4, mps)).toMatchObject({
    ...{ whenActive: whenActive.allowShort, smLimit: 53 }, // 0.4 x 132 are 52 whole SMs
  });
  const own = launching({ whenActive: whenActive.allowShort, smLimit: 40, maxKernelUs: us(100) });
  expect(withinShare(own, 0.4, mps)).toBe(own);
  expect(withinShare(own, 0.2, mps)).toEqual({ ...own, smLimit: 27 });
  expect(withinShare(allow, 0.4, isolated)).toBe(allow);
});

test("a part of the time is at most the share, counted in whole chunks", () => {
  const half = rulesWith({ coRunSliceUs: us(400), coRunEveryUs: us(800), chunkUs: us(200) });
  expect(withinShare(half, 0.5, mps)).toBe(half);
  expect(withinShare(half, 0.1, mps)).toEqual({ ...half, coRunEveryUs: 4000 });
  const chunk = rulesWith({ coRunEveryUs: us(400), chunkUs: us(200) });
  expect(withinShare(chunk, 0.2, mps).coRunEveryUs).toBe(1000);
  const long = rulesWith({ whenActive: whenActive.allow, chunkUs: us(2000) });
  expect(withinShare(long, 0.5, mps)).toMatchObject({
    ...{ whenActive: whenActive.wait, coRunSliceUs: 2000, coRunEveryUs: 4000 },
  });
});

test("a share so small that a second is too short for its times gets shorter ones", () => {
  const long = rulesWith({ coRunSliceUs: us(20_000), coRunEveryUs: us(40_000), chunkUs: us(200) });
  expect(withinShare(long, 0.02, mps)).toMatchObject({ coRunSliceUs: 20_000, coRunEveryUs: 1e6 });
  expect(withinShare(long, 0.01, mps)).toMatchObject({ coRunSliceUs: 10_000, coRunEveryUs: 1e6 });
  expect(withinShare(long, 0, mps)).toMatchObject({ coRunSliceUs: 0, coRunEveryUs: 1e6 });
});

test("where contexts take turns, the driver's half is the share from a half on", () => {
  const never = rulesWith({ isolated: 1, whenActive: whenActive.allow });
  expect(withinShare(never, 0.5, isolated)).toBe(never);
  expect(withinShare(never, 0.4, isolated)).toMatchObject({
    ...{ whenActive: whenActive.wait, coRunSliceUs: 2000, coRunEveryUs: 5000 },
  });
});

test("a request's begin that does not hold is at most the share of it", () => {
  const begin = rulesWith({ isolated: 1, graceUs: us(3000) });
  expect(withinShare(begin, 0.4, isolated)).toEqual({ ...begin, graceUs: 1600 });
  expect(withinShare(begin, 0.8, isolated)).toBe(begin);
});
