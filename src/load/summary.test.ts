import { expect, test } from "vitest";
import { summarise } from "./summary.ts";

test("quantiles are nearest ranks in us; latency counts from the arrival, service from the start", () => {
  const served = Array.from({ length: 100 }, (_, i) => ({
    arrival: i * 1e7,
    start: i * 1e7 + 1000,
    done: i * 1e7 + 1000 + (i + 1) * 1000,
  }));
  expect(summarise(served)).toEqual({
    requests: 100,
    seconds: 0.990101,
    throughputPerS: 101,
    latencyUs: { p50: 51, p95: 96, p99: 100, mean: 51.5, max: 101 },
    serviceUs: { p50: 50, p95: 95, p99: 99, mean: 50.5 },
  });
});

test("no request, no figures", () => {
  expect(summarise([])).toEqual({
    requests: 0,
    seconds: 0,
    throughputPerS: 0,
    latencyUs: { p50: 0, p95: 0, p99: 0, mean: 0, max: 0 },
    serviceUs: { p50: 0, p95: 0, p99: 0, mean: 0 },
  });
});
