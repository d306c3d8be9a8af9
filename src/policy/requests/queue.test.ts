import { expect, test } from "vitest";
import { isFull, noQueue, withQueue } from "./queue.ts";

const LIMIT_US = 1_000_000;

/** Looks of 250 ms, at which so many wait, with eight first tokens a second. */
function after(waiting: readonly (number | undefined)[]) {
  const ttft = { values: 2, above: 0, near: 0 };
  return waiting.reduce((queue, one) => withQueue(queue, { ttft, waiting: one }, 250), noQueue);
}

const looks = (count: number, waiting: number | undefined) =>
  Array.from({ length: count }, () => waiting);

test("a queue is full where half of the limit is waited for", () => {
  expect(isFull(after(looks(60, 3)), LIMIT_US)).toBe(false);
  expect(isFull(after(looks(60, 6)), LIMIT_US)).toBe(true);
});

test("requests that wait at one sample are in the next step", () => {
  expect(isFull(after([...looks(60, 0), 8, 0]), LIMIT_US)).toBe(false);
});

test("an engine that reports no queue has none", () => {
  expect(isFull(after(looks(60, undefined)), LIMIT_US)).toBe(false);
});
