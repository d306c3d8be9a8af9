import { describe, expect, test } from "vitest";
import {
  prometheusUnitMs,
  readHistograms,
  readTotal,
  sumOfSeries,
  valuesSince,
} from "./prometheus.ts";

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

const total = (name: string, from = text) => {
  const series = readHistograms(from, new Set([name])).get(name);
  return series && sumOfSeries(series);
};

test("series of one name are summed by bound; other names, and what is no number, are left out", () => {
  expect([...readHistograms(text, new Set(["a_seconds", "c_seconds"])).keys()]).toEqual([
    "a_seconds",
  ]);
  expect([...(total("a_seconds")?.upTo ?? [])]).toEqual([
    [0.1, 11],
    [Infinity, 103],
  ]);
  expect([...(total("b_seconds")?.upTo ?? [])]).toEqual([[1, 7]]);
});

test("series are chosen by their labels, whatever stands in a label", () => {
  const model = (name: string) => {
    const chosen = readHistograms(
      text,
      new Set(["a_seconds"]),
      (labels) => labels.get("model") === name,
    ).get("a_seconds");
    return chosen && sumOfSeries(chosen).count;
  };
  expect(model('one} \\"two\\"')).toBe(3);
  expect(model("three")).toBe(100);
  expect(model("four")).toBeUndefined();
});

test("sums are added up, too; NaN where a series has none", () => {
  const summed = `a_seconds_bucket{m="1",le="+Inf"} 2\na_seconds_sum{m="1"} 1\na_seconds_bucket{m="2",le="+Inf"} 1
a_seconds_sum{m="2"} 0.5 1700000000000`;
  expect(total("a_seconds", summed)).toMatchObject({ sum: 1.5, count: 3 });
  expect(total("a_seconds")?.sum).toBeNaN();
  expect(total("a_seconds", `${summed}\na_seconds_bucket{m="3",le="+Inf"} 9`)?.sum).toBeNaN();
});

test("a sum and a count tell a mean without buckets, a sum alone tells nothing", () => {
  expect(total("s_seconds", "s_seconds_sum 3\ns_seconds_count 4")).toMatchObject({
    sum: 3,
    count: 4,
  });
  expect(total("s_seconds", "s_seconds_sum 3")).toBeUndefined();
});

test("the exemplar of a line is not its value", () => {
  const openMetrics = `# TYPE a_seconds histogram
a_seconds_bucket{le="0.1"} 8 # {trace_id="K}O"} 0.054 1520879607.7
a_seconds_bucket{le="+Inf"} 9 1520879607 # {trace_id="x"} 0.67
a_seconds_sum 0.9
a_total 17 # {trace_id="y"} 1 1520879607.7
# EOF`;
  expect([...(total("a_seconds", openMetrics)?.upTo ?? [])]).toEqual([
    [0.1, 8],
    [Infinity, 9],
  ]);
  expect(readTotal(openMetrics, ["a_total"])).toBe(17);
});

test("names in quotes are read, of metrics and of labels", () => {
  const quoted = `{"a.b_seconds_bucket",le="0.1","model.name"="m"} 3
{"a.b_seconds_bucket", "model.name"="m", le="+Inf"} 4
{"a.b_seconds_sum","model.name"="m"} 0.5
{"a.total"} 6
{le="0.1"} 5`;
  const series = readHistograms(quoted, new Set(["a.b_seconds"])).get("a.b_seconds");
  expect([...(series ?? [])]).toEqual([
    [
      'model.name="m"',
      {
        upTo: new Map([
          [0.1, 3],
          [Infinity, 4],
        ]),
        sum: 0.5,
        count: 4,
      },
    ],
  ]);
  expect(readTotal(quoted, ["a.total"])).toBe(6);
});

test("the total is that of the first name that the text has", () => {
  const counters =
    'old 5\nnew_total{engine="0"} 2\nnew_total{engine="1"} 3.5\nnew_total NaN\nnew 9';
  expect(readTotal(counters, ["new_total", "old"])).toBe(5.5);
  expect(readTotal(counters, ["other", "old"])).toBe(5);
  expect(readTotal(counters, ["other"])).toBeUndefined();
});

describe("what came between two readings", () => {
  const model = (name: string, short: number, all: number) =>
    `a_seconds_bucket{m="${name}",le="0.1"} ${short}\na_seconds_bucket{m="${name}",le="+Inf"} ${all}\na_seconds_sum{m="${name}"} ${all / 10}\n`;
  const since = (from: string, to: string) => {
    const of = (text: string) => readHistograms(text, new Set(["a_seconds"])).get("a_seconds");
    const { upTo, count } = valuesSince(of(from) ?? new Map(), of(to) ?? new Map());
    return [upTo.get(0.1), count];
  };
  const base = [model("base", 50, 100), model("base", 52, 110)] as const;

  test("is the difference", () => {
    expect(since(...base)).toEqual([2, 10]);
  });

  test("is not the history of the others when a series is gone", () => {
    expect(since(base[0] + model("lora", 20, 20), base[1])).toEqual([2, 10]);
  });

  test("is not the history of a series that appears", () => {
    expect(since(base[0], base[1] + model("lora", 0, 70))).toEqual([2, 10]);
    expect(since("", base[1])).toEqual([0, 0]);
  });

  test("is all of a series whose counts went down, and the difference of the others", () => {
    expect(since(base[0] + model("lora", 5, 9), base[1] + model("lora", 1, 3))).toEqual([3, 13]);
  });
});

test("units come from the name", () => {
  expect(["a_seconds", "a_ms", "a_microseconds", "a"].map(prometheusUnitMs)).toEqual([
    1000, 1, 1e-3, 1000,
  ]);
});
