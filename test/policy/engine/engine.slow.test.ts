// The policy `cotenant` beside an LLM engine whose objectives are about requests, in virtual time, compared with the
// best of fixed shares, which is found by trying them.
import { describe, expect, test } from "vitest";
import type { Shape } from "#llm-model";
import { bestFixed, keptIn, played, type Run, violated } from "#llm-model";
import { at, fast, large, limitsAlone, vllm } from "./shapes.ts";

const SECONDS = 1000;
/** Learning takes a minute. */
const FROM_S = 60;
const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * The policy's share and its broken windows, and the best fixed share that breaks no more than `strict` and 1 % of
 * windows.
 */
function compared(shape: Shape, perS: number, seed: number) {
  const alone = at(shape, () => perS, { seconds: SECONDS, seed });
  const run = { ...alone, limits: limitsAlone(alone) };
  const measured = (more: Partial<Run>) => {
    const outcome = played({ ...run, ...more });
    return {
      kept: keptIn(outcome, FROM_S),
      broken: violated(outcome, run.limits, 30, run.seconds),
    };
  };
  // A window in which the engine alone is late counts for nobody.
  const strict = measured({ fixed: "strict" });
  const best = bestFixed(strict.broken, (fixed) => measured({ fixed })) ?? strict;
  const ours = measured({});
  return { best: best.kept, kept: ours.kept, broken: ours.broken - strict.broken };
}

describe("an engine with objectives", () => {
  test.each([
    ["of 8 B", large, [1, 1.6, 2.6]],
    ["with fast steps", fast, [3, 6, 10]],
    ["of vLLM", vllm, [4, 12]],
  ] as const)(
    "%s: over its loads best-effort work gets seven tenths of what the best fixed shares could, and breaks three windows in 200 more than strict at most",
    (_, shape, loads) => {
      const cases = loads.flatMap((perS) => [7, 8].map((seed) => compared(shape, perS, seed)));
      expect(mean(cases.map(({ broken }) => broken))).toBeLessThanOrEqual(0.015);
      expect(mean(cases.map(({ kept }) => kept))).toBeGreaterThan(
        0.7 * mean(cases.map(({ best }) => best)),
      );
    },
  );
});
