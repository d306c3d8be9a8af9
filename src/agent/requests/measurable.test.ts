import { describe, expect, test } from "vitest";
import { type Certainties, whyNotMeasurable, withCertainty } from "./measurable.ts";

const certain = {
  kind: "tpot",
  quantile: "p99",
  statedUs: 10_000,
  limitUs: 8000,
  judgedAtUs: 8000,
  firstBoundUs: 10_000,
} as const;
const answer = (values: number, above: number, unsure: number, more = {}) => [
  {
    ...certain,
    ...{ unsure, meanUs: 5000, p50Us: 10_000, p99Us: 10_000 },
    counts: { values, above, near: above, sumUs: (5000 * values) as number | undefined },
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

test("steps of the engine bound what its histogram can't report tokens, but of nothing else", () => {
  expect(whyNotMeasurable(certaintiesOf(answer(10, 6, 6)), true)).toBeUndefined();
  expect(whyNotMeasurable(certaintiesOf(answer(10, 6, 6, { kind: "ttft" })), true)).toContain(
    "its histogram of ttft",
  );
});

describe("it is not", () => {
  const says =
    "its histogram of tpot begins at 10.00 ms, so a p99 of 8.00 ms is not measurable: state 10.00 ms or more, or the mean";

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

test.each([
  { quantile: "p50", unsure: 49, is: "open" },
  { quantile: "p50", unsure: 51, is: "not" },
  { quantile: "p90", unsure: 10, is: "open" },
  { quantile: "p95", unsure: 6, is: "not" },
])(
  "of a $quantile, $unsure of 100 values that may be above decide: $is",
  ({ quantile, unsure, is }) => {
    const found = whyNotMeasurable(certaintiesOf(answer(100, unsure, unsure, { quantile })));
    if (is === "open") expect(found).toBeUndefined();
    else expect(found).toContain(`so a ${quantile} of 8.00 ms is not measurable`);
  },
);

test("a mean is measurable wherever there is a sum", () => {
  const mean = { quantile: "mean" };
  expect(whyNotMeasurable(certaintiesOf(answer(100, 90, 90, mean)))).toBeUndefined();
  const counts = { values: 100, above: 0, near: 0, sumUs: undefined };
  expect(whyNotMeasurable(certaintiesOf(answer(100, 0, 0, { ...mean, counts })))).toBe(
    "its histogram of tpot has no sum, so a mean is not measurable",
  );
});

test("what has no limit is no objective", () => {
  const itl = answer(10, 6, 6, { kind: "itl", limitUs: Number.POSITIVE_INFINITY });
  expect(whyNotMeasurable(certaintiesOf(itl))).toBeUndefined();
});
