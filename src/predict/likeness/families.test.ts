import { expect, test } from "vitest";
import { familiesOf } from "./families.ts";

const on = (places: readonly number[]) => (a: number, b: number) =>
  ((places[a] ?? 0) - (places[b] ?? 0)) ** 2;

test("workloads that resemble each other are one family", () => {
  const places = [0, 10, 20, 0.1, 10.1, 20.1, 0.2, 10.2, 20.2, 0.3, 10.3, 20.3];
  const families = familiesOf(12, on(places));
  expect(new Set(families).size).toBe(3);
  places.forEach((_, i) => {
    expect(families[i]).toBe(families[i % 3]);
  });
});

test("few workloads are families of their own, and many are few families", () => {
  expect(familiesOf(2, on([0, 0]))).toEqual([0, 1]);
  const many = Array.from({ length: 100 }, (_, i) => i);
  expect(new Set(familiesOf(100, on(many))).size).toBe(12);
});
