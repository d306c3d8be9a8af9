import { expect, test } from "vitest";
import { UserError } from "#core";
import { blockBetween, parseMetric, readSeries } from "./prometheus.ts";
import { countOf, quantileOf } from "./samples.ts";

const text = (counts: readonly number[], label = "/predict") =>
  [
    "# TYPE latency_seconds histogram",
    ...["0.01", "0.02", "+Inf"].map(
      (le, i) => `latency_seconds_bucket{handler="${label}",le="${le}"} ${counts[i]}`,
    ),
    `latency_seconds_count{handler="${label}"} ${counts[2]}`,
    'latency_seconds_other_bucket{le="0.01"} 99',
  ].join("\n");

const metric = parseMetric("latency_seconds");

test("what was counted between two samples lies evenly in its buckets, in milliseconds", () => {
  const from = readSeries(text([5, 5, 5]), metric);
  const to = readSeries(text([5, 105, 105]), metric);
  const block = from && to && blockBetween(from, to, metric);
  const blocks = block ? [block] : [];
  expect(countOf(blocks)).toBeCloseTo(100);
  expect(quantileOf(blocks, 0.5)).toBeCloseTo(15, 0);
  expect(quantileOf(blocks, 0.99)).toBeCloseTo(20, 0);
});

test("latencies over the last bound are taken for it", () => {
  const from = readSeries(text([0, 0, 0]), metric);
  const to = readSeries(text([0, 0, 4]), metric);
  const block = from && to && blockBetween(from, to, metric);
  expect(quantileOf(block ? [block] : [], 0.5)).toBe(20);
});

test("series are added up, unless labels choose among them", () => {
  const both = (n: number) => `${text([n, n, n])}\n${text([2 * n, 2 * n, 2 * n], "/health")}`;
  const counted = (of: typeof metric) => {
    const [from, to] = [readSeries(both(1), of), readSeries(both(3), of)];
    const block = from && to && blockBetween(from, to, of);
    return block && countOf([block]);
  };
  expect(counted(metric)).toBeCloseTo(6);
  expect(counted(parseMetric('latency_seconds_bucket{handler="/predict"}'))).toBeCloseTo(2);
  expect(readSeries(both(1), parseMetric('latency_seconds{handler="/x"}'))).toBeUndefined();
  expect(readSeries(both(1), parseMetric("latency_seconds_count"))).toBeUndefined();
});

test("a series that is gone takes nothing away, and one that has come has no past in it", () => {
  const adapter = text([500, 500, 500], "/adapter");
  const [one, later] = [text([5, 5, 5]), text([5, 105, 105])];
  const between = (before: string, after: string) => {
    const [from, to] = [readSeries(before, metric), readSeries(after, metric)];
    const block = from && to && blockBetween(from, to, metric);
    return block && [countOf([block]), quantileOf([block], 0.5)];
  };
  const alone = between(one, later);
  expect(alone?.[0]).toBeCloseTo(100);
  expect(between(`${one}\n${adapter}`, later)).toEqual(alone);
  expect(between(one, `${later}\n${adapter}`)).toEqual(alone);
});

test("counts that went down are no latencies", () => {
  const from = readSeries(text([5, 5, 5]), metric);
  const to = readSeries(text([1, 1, 1]), metric);
  expect(from && to && blockBetween(from, to, metric)).toBeUndefined();
});

test("a metric's name tells its unit; what is no name is refused", () => {
  expect(["a_seconds", "a_ms", "a_microseconds"].map((name) => parseMetric(name).unitMs)).toEqual([
    1e3, 1, 1e-3,
  ]);
  expect(() => parseMetric("rate(a[1m])")).toThrow(UserError);
});

test("LLM servers have short names, whose unit is that of the metric", () => {
  expect(parseMetric("vllm.ttft")).toMatchObject({
    name: "vllm:time_to_first_token_seconds",
    unitMs: 1e3,
  });
  expect(parseMetric("triton.ttft")).toMatchObject({ unitMs: 1 });
  expect(() => parseMetric("vllm.first")).toThrow('vllm has no histogram of "first".');
});
