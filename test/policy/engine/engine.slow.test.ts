// What the policy `cotenant` gives beside an LLM engine whose objectives are about requests, in virtual time, compared with
// the best of fixed shares, which is found by trying them.
import { describe, expect, test } from "vitest";
import type { Shape } from "#llm-model";
import { keptIn, type Outcome, played, type Run, violated } from "#llm-model";
import { at, fast, large, limitsAlone } from "./shapes.ts";

const LEVELS = [0, 8, 14, 20, 23];
const SECONDS = 1000;
/** Learning takes a minute. */
const FROM_S = 60;
const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const violations = (outcome: Outcome, run: Run) => violated(outcome, run.limits, 30, run.seconds);

/** What the policy gives and breaks, and what the best fixed share does that breaks no more than `strict` and 1 % of windows. */
function compared(shape: Shape, perS: number, seed: number) {
  const alone = at(shape, () => perS, { seconds: SECONDS, seed });
  const run = { ...alone, limits: limitsAlone(alone) };
  const fixed = LEVELS.map((level) => played({ ...run, fixed: level }));
  // A window in which the engine alone is late counts for nobody.
  const [strict = 0] = fixed.map((outcome) => violations(outcome, run));
  const held = fixed.filter((outcome) => violations(outcome, run) <= strict + 0.01);
  const ours = played(run);
  return {
    best: Math.max(...held.map((outcome) => keptIn(outcome, FROM_S))),
    kept: keptIn(ours, FROM_S),
    broken: violations(ours, run) - strict,
  };
}

describe("an engine with objectives", () => {
  test.each([
    ["of 8 B", large, [1, 1.6, 2.6]],
    ["with fast steps", fast, [3, 6, 10]],
  ] as const)(
    "%s: over three loads best-effort work gets what the best fixed shares could, and breaks one window in fifty more than strict at most",
    (_, shape, loads) => {
      const cases = loads.flatMap((perS) => [7, 8].map((seed) => compared(shape, perS, seed)));
      expect(mean(cases.map(({ broken }) => broken))).toBeLessThanOrEqual(0.02);
      expect(mean(cases.map(({ kept }) => kept))).toBeGreaterThan(
        0.9 * mean(cases.map(({ best }) => best)),
      );
    },
  );
});
