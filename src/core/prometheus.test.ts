import { expect, test } from "vitest";
import { prometheusUnitMs, readHistograms } from "./prometheus.ts";

const text = `
# HELP a_seconds of "le"
# TYPE a_seconds histogram
a_seconds_bucket{le="0.1",model="one} \\"two\\""} 1
a_seconds_bucket{le="+Inf",model="one} \\"two\\""} 3.0 1700000000000
a_seconds_bucket{model="three",le="0.1"} 10
a_seconds_bucket{model="three",le="+Inf"} 1e2
a_seconds_sum{model="three"} 1
a_seconds_count{model="three"} 100
b_seconds_bucket{le="1"} 7
b_seconds_bucket{le="+Inf"} NaN
b_seconds_bucket{le="x"} 1
b_seconds_bucket{other="1"} 1
a_seconds_bucket 5`;

test("series of one name are summed by bound; other names, and what is no number, are left out", () => {
  const found = readHistograms(text, new Set(["a_seconds", "c_seconds"]));
  expect([...found.keys()]).toEqual(["a_seconds"]);
  expect([...(found.get("a_seconds")?.upTo ?? [])]).toEqual([
    [0.1, 11],
    [Infinity, 103],
  ]);
  expect([...(readHistograms(text, new Set(["b_seconds"])).get("b_seconds")?.upTo ?? [])]).toEqual([
    [1, 7],
  ]);
});

test("series are chosen by their labels, whatever stands in a label", () => {
  const model = (name: string) =>
    readHistograms(text, new Set(["a_seconds"]), (labels) => labels.get("model") === name)
      .get("a_seconds")
      ?.upTo.get(Infinity);
  expect(model('one} \\"two\\"')).toBe(3);
  expect(model("three")).toBe(100);
  expect(model("four")).toBeUndefined();
});

test("sums are added up, too; NaN where a histogram has none", () => {
  const more = `${text}\na_seconds_sum 0.5 1700000000000\na_seconds_sum{model="x"} NaN`;
  const found = readHistograms(more, new Set(["a_seconds", "b_seconds"]));
  expect(found.get("a_seconds")?.sum).toBe(1.5);
  expect(found.get("b_seconds")?.sum).toBeNaN();
});

test("units come from the name", () => {
  expect(["a_seconds", "a_ms", "a_microseconds", "a"].map(prometheusUnitMs)).toEqual([
    1000, 1, 1e-3, 1000,
  ]);
});
