import { expect, test } from "vitest";
import { sumOfSeries } from "#core";
import { policyNamed } from "#policy";
import { EnginePlant, type Shape } from "./engine.ts";
import { reportedSince } from "./reader.ts";

const shape: Shape = {
  ...{ stepMs: 20, perSequenceMs: 0.2, perContextMs: 0, perPromptTokenMs: 0.05, gapMs: 1 },
  ...{ mostSequences: 32, batchTokens: 1024, cacheTokens: 65_536 },
};
const alone = policyNamed("strict").rules({ isolated: true, high: [] });

test("an engine that reports its requests tells what its histograms hold, each value once", () => {
  const plant = new EnginePlant(
    shape,
    { perS: () => 8, burstiness: 1, output: { mean: 20, cv: 0 } },
    3,
  );
  const limits = { ttft: 60_000 };
  expect(reportedSince(plant, limits)).toEqual({});
  const sums = [4000, 8000].map((untilMs) => {
    plant.run(untilMs, alone, false);
    return reportedSince(plant, limits)?.ttft;
  });
  const [first, second] = sums.map((one) => one ?? { values: 0, above: 0, sumUs: 0 });
  const { upTo, sum } = sumOfSeries(
    plant.histograms().get("vllm:time_to_first_token_seconds") ?? expect.fail("no histogram"),
  );
  expect((first?.values ?? 0) + (second?.values ?? 0)).toBe(upTo.get(Number.POSITIVE_INFINITY));
  expect((first?.sumUs ?? 0) + (second?.sumUs ?? 0)).toBeCloseTo(1e6 * sum, 0);
  const within = upTo.get(0.06) ?? 0;
  const above = (first?.above ?? 0) + (second?.above ?? 0);
  expect(above + within).toBe(upTo.get(Number.POSITIVE_INFINITY));
  expect(above).toBeGreaterThan(0);
  expect(within).toBeGreaterThan(0);
});
