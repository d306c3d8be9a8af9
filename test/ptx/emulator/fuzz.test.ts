// Random kernels: original and variants leave the same memory, with a stop at every claim.
import fc from "fast-check";
import { expect, test } from "vitest";
import { compare } from "./differential.ts";
import { caseOf, program } from "./programs.ts";

const PROGRAMS = 12;

test("random kernels and their variants leave the same memory", () => {
  const made = new Map<string, number>();
  fc.assert(
    fc.property(program, (statements) => {
      const { source, run } = caseOf(statements);
      const { variants, differences } = compare(run, {
        workers: [2],
        seeds: [0],
        widths: [1],
        everyStop: true,
        stoppedBy: ["flag"],
      });
      for (const variant of variants) made.set(variant, (made.get(variant) ?? 0) + 1);
      if (differences.length > 0) expect.fail(`${differences[0]}\n${source}`);
    }),
    { numRuns: PROGRAMS, seed: 1 },
  );
  // The comparison is worth something only if most programs have variants.
  expect(made.get("slice")).toBe(PROGRAMS);
  expect(made.get("preempt")).toBeGreaterThan(PROGRAMS / 4);
});
