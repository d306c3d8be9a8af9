import { describe, expect, test } from "vitest";
import { type Certainties, whyNotMeasurable, withCertainty } from "./measurable.ts";

const certain = { kind: "tpot", limitUs: 8000, judgedAtUs: 8000, firstBoundUs: 10_000 } as const;
const answer = (values: number, above: number, unsure: number, more = {}) => [
  {
    ...certain,
    ...{ unsure, meanUs: 5000, p50Us: 10_000, p99Us: 10_000 },
    counts: { values, above, near: above },
    ...more,
  },
];
const certaintiesOf = (...answers: readonly ReturnType<typeof answer>[]) =>
  answers.reduce<Certainties>(withCertainty, {});

describe("an objective is measurable", () => {
  test("if it is known of each value whether it is above the limit", () => {
    expect(whyNotMeasurable(certaintiesOf(answer(100, 0, 0)))).toBeUndefined();
  });

  test("if those of which it is not known are too few to matter", () => {
    expect(whyNotMeasurable(certaintiesOf(answer(400, 4, 4)))).toBeUndefined();
  });

  test("if more than 1 % are surely above: then it is missed", () => {
    expect(whyNotMeasurable(certaintiesOf(answer(100, 60, 40)))).toBeUndefined();
  });
});

describe("it is not", () => {
  const says =
    "its histogram of tpot begins at 10.00 ms, so a p99 of 8.00 ms is not measurable: state 10.00 ms or more";

  test("if those of which it is not known decide", () => {
    expect(whyNotMeasurable(certaintiesOf(answer(10, 6, 6)))).toBe(says);
  });

  test("until so many others came that they decide no more", () => {
    const many = Array.from({ length: 20 }, () => answer(100, 0, 0));
    expect(whyNotMeasurable(certaintiesOf(answer(10, 6, 6), ...many.slice(0, 3)))).toBe(says);
    expect(whyNotMeasurable(certaintiesOf(answer(10, 6, 6), ...many))).toBeUndefined();
  });

  test("if there are no bounds at all", () => {
    expect(whyNotMeasurable(certaintiesOf(answer(10, 6, 6, { firstBoundUs: undefined })))).toBe(
      "its tpot has a sum and a count but no bounds, so a p99 is not measurable",
    );
  });
});

test("what has no limit is no objective", () => {
  const itl = answer(10, 6, 6, { kind: "itl", limitUs: Number.POSITIVE_INFINITY });
  expect(whyNotMeasurable(certaintiesOf(itl))).toBeUndefined();
});
