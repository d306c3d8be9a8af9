// The whole comparison: every kernel of the corpus on both architectures, every Triton kernel that is to be had,
// many random programs (COTENANT_PROGRAMS, drawn from COTENANT_SEED); several numbers of workers, several orders, a stop
// at every claim. Prints what was run.
import fc from "fast-check";
import { expect, test } from "vitest";
import { capturedCase, capturedNames } from "./captured.ts";
import { corpusCase, launchesFor } from "./corpus.ts";
import { compare, type Effort, type Outcome } from "./differential.ts";
import { caseOf, program } from "./programs.ts";
import { firstGuess, tritonFiles } from "./triton.ts";

const thorough: Effort = {
  workers: [1, 2, 5],
  seeds: [0, 1],
  widths: [1, 2],
  everyStop: true,
  stoppedBy: ["flag", "counter"],
};
const RANDOM_PROGRAMS = Number(process.env.COTENANT_PROGRAMS ?? 300);
const SEED = Number(process.env.COTENANT_SEED ?? Date.now() % 2 ** 31);

class Tally {
  readonly #counts = new Map<string, number>();
  readonly differences: string[] = [];

  add({ variants, runs, resumed, differences }: Outcome): void {
    for (const variant of variants) this.#more(`${variant} variants`, 1);
    this.#more("kernels", 1);
    this.#more("runs", runs);
    this.#more("resumed launches", resumed);
    this.differences.push(...differences);
  }

  #more(what: string, by: number): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + by);
  }

  print(what: string): void {
    const counts = [...this.#counts].map(([name, n]) => `${n} ${name}`).join(", ");
    console.log(`${what}: ${counts}, ${this.differences.length} differences`);
  }
}

test.each(["sm_80", "sm_90"] as const)("the corpus for %s", (arch) => {
  const tally = new Tally();
  for (const launch of launchesFor(arch))
    if (launch.ends === undefined) tally.add(compare(corpusCase(arch, launch), thorough));
  tally.print(`corpus, ${arch}`);
  expect(tally.differences).toEqual([]);
});

const files = tritonFiles();

test("Triton's kernels", () => {
  const tally = new Tally();
  const left: string[] = [];
  for (const file of files) {
    const found = firstGuess(file);
    if (typeof found === "string") left.push(found);
    else tally.add(compare(found, { ...thorough, workers: [2], seeds: [0], widths: [1] }));
  }
  tally.print("Triton");
  for (const why of left) console.log(`not run: ${why}`);
  expect(tally.differences).toEqual([]);
  expect(left.length).toBeLessThan(files.length / 10);
});

test("kernels that Triton made of ours", () => {
  const tally = new Tally();
  const effort = { ...thorough, workers: [1, 2], widths: [1] };
  for (const name of capturedNames()) {
    const one = capturedCase(name);
    if (one === undefined) console.log(`not run: ${name}`);
    else tally.add(compare(one, effort));
  }
  tally.print("Triton, captured");
  expect(tally.differences).toEqual([]);
});

test("random programs", () => {
  const tally = new Tally();
  fc.assert(
    fc.property(program, (statements) => {
      const { source, run } = caseOf(statements);
      const outcome = compare(run, { ...thorough, workers: [1, 3], seeds: [0, 1] });
      tally.add(outcome);
      if (outcome.differences.length > 0) expect.fail(`${outcome.differences[0]}\n${source}`);
    }),
    { numRuns: RANDOM_PROGRAMS, seed: SEED },
  );
  tally.print(`random programs, seed ${SEED}`);
});
