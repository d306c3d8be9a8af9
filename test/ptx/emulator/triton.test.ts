// Kernels that Triton made: a few of them here, all of them in the long run.
import { expect, test } from "vitest";
import { compare } from "./differential.ts";
import { firstGuess, tritonFiles } from "./triton.ts";

const files = tritonFiles();

const FILES = 3;

const some = files.filter((_, i) => i % Math.floor(files.length / FILES) === 0).slice(0, FILES);

test("some kernels and their variants leave the same memory", () => {
  const effort = {
    workers: [2],
    seeds: [0],
    widths: [1],
    everyStop: false,
    stoppedBy: ["flag"],
  } as const;
  for (const file of some) {
    const found = firstGuess(file);
    if (typeof found === "string") throw new Error(found);
    const { variants, differences } = compare(found, effort);
    expect(differences, file).toEqual([]);
    expect(variants, file).toContain("preempt");
  }
});
