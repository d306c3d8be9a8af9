import { expect, test } from "vitest";
import { engines } from "./engines.ts";
import { engineMetric } from "./metric.ts";

test("names of metrics are such as Prometheus allows, and each stands for one thing", () => {
  for (const { histograms, waiting, prefixCache } of engines) {
    const served = [...Object.values(histograms), waiting, ...(prefixCache?.hits ?? [])];
    const names = served.filter((name) => name !== undefined);
    expect(names.filter((name) => !/^[a-z_:][a-z0-9_:]*$/.test(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  }
});

test.each([
  ["vllm.ttft", "vllm:time_to_first_token_seconds"],
  ["sglang.itl", "sglang:inter_token_latency_seconds"],
  ["tgi.e2e", "tgi_request_duration"],
  ["triton.ttft", "nv_inference_first_response_histogram_ms"],
])("%s is %s", (short, name) => {
  expect(engineMetric(short)).toBe(name);
});

test.each(["vllm:time_to_first_token_seconds", "request_seconds", 'a{b="c.d"}'])(
  "%s is no short name",
  (name) => {
    expect(engineMetric(name)).toBeUndefined();
  },
);

test("what is not known is refused with what is", () => {
  expect(() => engineMetric("ollama.ttft")).toThrow('No engine is called "ollama".');
  expect(() => engineMetric("tgi.ttft")).toThrow('tgi has no histogram of "ttft".');
});
