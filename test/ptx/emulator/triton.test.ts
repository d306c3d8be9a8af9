// Kernels that Triton made, where they are to be had: a few of them here, all of them in the long run.
import { expect, test } from "vitest";
import { compare } from "./differential.ts";
import { firstGuess, tritonFiles } from "./triton.ts";

const files = tritonFiles();
if (files.length === 0) console.warn("skipped: there is no folder of Triton's kernels here");

/** One in so many. */
const EVERY = 32;

test.runIf(files.length > 0).each(files.filter((_, i) => i % EVERY === 1))(
  "%s and its variants leave the same memory",
  (file) => {
    const found = firstGuess(file);
    if (typeof found === "string") throw new Error(found);
    const effort = {
      workers: [2],
      seeds: [0],
      widths: [1],
      everyStop: false,
      stoppedBy: ["flag"],
    } as const;
    const { variants, differences } = compare(found, effort);
    expect(differences).toEqual([]);
    expect(variants).toContain("preempt");
  },
);
