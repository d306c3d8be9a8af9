import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readHistograms } from "#core";
import { engine, only, TTFT } from "./engine-histograms.ts";
import { allHistograms } from "./judge.ts";

describe("series are compared one by one", () => {
  const model = (name: string, good: number, all: number) =>
    `${["0.1", "0.25", "+Inf"]
      .map((le, i) => `${TTFT}_bucket{model_name="${name}",le="${le}"} ${i === 0 ? good : all}.0\n`)
      .join("")}${TTFT}_sum{model_name="${name}"} ${all * 0.12}\n`;
  const countedIn = (before: string, now: string) => {
    const of = (text: string) => readHistograms(text, allHistograms);
    const { values, above } = only({ ttft: 100_000 }, of(before), of(now))?.counts ?? {};
    return { values, above };
  };
  const [before, now] = [model("base", 50_000, 100_000), model("base", 50_010, 100_010)];

  test("so an adapter whose series goes, or comes with a past, brings no history with it", () => {
    expect(countedIn(before, now)).toEqual({ values: 10, above: 0 });
    expect(countedIn(before + model("lora", 20, 20), now)).toEqual({ values: 10, above: 0 });
    expect(countedIn(before, now + model("lora", 0, 5000))).toEqual({ values: 10, above: 0 });
  });

  test("and one that began again counts from its beginning, the others from the last answer", () => {
    expect(countedIn(before + model("lora", 20, 20), now + model("lora", 1, 2))).toEqual({
      values: 12,
      above: 1,
    });
  });
});

describe("a limit below the first bound, as of vLLM's 10 ms a token", () => {
  /** Values of `name` in a histogram that begins at 50 ms, of this many ms in all. */
  const judged = (limitMs: number, counts: readonly number[], sumMs: number, kind = "tpot") => {
    const name = `vllm:${kind === "tpot" ? "request_time_per_output_token" : "inter_token_latency"}_seconds`;
    return only(
      { [kind]: 1000 * limitMs },
      engine([0, 0, 0, 0], { name, sum: 0 }),
      engine(counts, { name, sum: sumMs / 1000 }),
    );
  };

  test("tells a mean at any number of values", () => {
    expect(judged(40, [900, 900, 900, 900], 900 * 25, "itl")?.meanUs).toBeCloseTo(25_000);
    expect(judged(40, [900, 900, 900, 900], 900 * 25)?.meanUs).toBeCloseTo(25_000);
    expect(judged(40, [900, 900, 900, 900], Number.NaN)?.meanUs).toBeUndefined();
  });

  test.each([
    {
      what: "few values are known by their mean",
      counts: [3, 3, 3, 3],
      sum: 90,
      above: 0,
      unsure: 0,
    },
    { what: "few long ones, too", counts: [3, 3, 3, 3], sum: 135, above: 3, unsure: 0 },
    {
      what: "of many, as many may be above as the sum allows",
      counts: [9, 9, 9, 9],
      sum: 225,
      above: 5,
      unsure: 5,
    },
    {
      what: "a short sum leaves room for none",
      counts: [9, 9, 9, 9],
      sum: 39,
      above: 0,
      unsure: 0,
    },
    {
      what: "a long sum says how many surely are",
      counts: [9, 9, 9, 9],
      sum: 405,
      above: 9,
      unsure: 4,
    },
    {
      what: "those beyond the first bound surely are",
      counts: [4, 5, 5, 5],
      sum: 160,
      above: 3,
      unsure: 2,
    },
    {
      what: "without a sum all may be",
      counts: [2, 3, 3, 3],
      sum: Number.NaN,
      above: 3,
      unsure: 2,
    },
  ])("$what", ({ counts, sum, above, unsure }) => {
    expect(judged(40, counts, sum)).toMatchObject({ unsure, counts: { above } });
  });

  test("is sure of nothing that it can't know", () => {
    const values = fc.array(fc.double({ min: 0.1, max: 300, noNaN: true }), {
      minLength: 4,
      maxLength: 40,
    });
    fc.assert(
      fc.property(values, fc.constantFrom("tpot", "itl"), (ms, kind) => {
        const counts = [50, 100, 250, Infinity].map((le) => ms.filter((one) => one <= le).length);
        const sum = ms.reduce((sum, one) => sum + one, 0);
        const { counts: found, unsure = 0 } = judged(40, counts, sum, kind) ?? {};
        const above = ms.filter((one) => one > 40).length;
        expect(found?.above).toBeGreaterThanOrEqual(above);
        expect((found?.above ?? 0) - unsure).toBeLessThanOrEqual(above);
      }),
    );
  });
});
