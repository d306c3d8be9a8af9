// Limits of the cost of a gate decision and of a launch, in instructions: a quarter above the counts with g++ 12
// (bench/results), so that a list walked on every launch or a string compared is noticed here.
import { expect, test } from "vitest";
import { countInstructions, hasValgrind, type Part } from "../../bench/cost/instructions.ts";
import { bystanderMemory } from "../../bench/cost/processes.ts";

const atMost: Record<Part, number> = {
  "gate decision": 265,
  // Five more for each rule that is added, which the quarter is not for.
  "- reading the rules": 180,
  "- release": 19,
  "- admit": 52,
  "- closes": 26,
  "high launch in a burst": 320,
  "- with words in its queue": 335,
  "high burst, first launch and wait": 1540,
  "best-effort launch in a chunk": 800,
  "best-effort launch with a border": 1370,
  "best-effort launch, no high client": 535,
};

const valgrind = hasValgrind();
if (!valgrind) console.warn("SKIPPED: no instructions are counted, because valgrind is missing.");

test.skipIf(!valgrind)("decisions and launches keep to their instructions", async () => {
  const counts = await countInstructions();
  for (const [part, count] of Object.entries(counts))
    expect.soft(count, part).toBeLessThanOrEqual(atMost[part as Part]);
});

test("a process that never asks for the driver stays as small as it was", () => {
  expect(bystanderMemory("Anonymous")).toBeLessThan(0.06);
});
