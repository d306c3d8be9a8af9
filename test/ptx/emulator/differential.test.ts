// Variants against originals: each kernel of the corpus sliced and stopped at every claim; and a check that the
// comparison would notice.

import { expect, test } from "vitest";
import { parse, printPlain } from "#ptx";
import { launches } from "../corpus/launches/index.ts";
import { corpusCase, launchesFor } from "./corpus.ts";
import { compare, withVariants } from "./differential.ts";

const quick = {
  workers: [2],
  seeds: [0],
  widths: [1],
  everyStop: true,
  stoppedBy: ["counter"],
} as const;

const rows = launchesFor("sm_90")
  .filter(({ ends }) => ends === undefined)
  .map((one) => [one.kernel, one] as const);

test.each(rows)("%s and its variants leave the same memory", (_kernel, one) => {
  expect(compare(corpusCase("sm_90", one), quick).differences).toEqual([]);
});

/** Kernels that no variant may be made of. */
const refused = [
  "cooperative_grid",
  "grid_barrier_by_hand",
  "wait_for_later_block",
  "call_pointer",
];
/** And those that may be sliced but not made persistent. */
const sliced = [
  "exit_then_shuffle",
  "call_with_barrier",
  "call_with_exit",
  "call_recursive",
  "reads_clock",
  "reads_warp_id",
];

/** Code that seems to wait for a thread that has left, and does not. */
const both = launches.filter(({ file }) => file === "parted").map(({ kernel }) => kernel);

test.each([
  ...both.map((kernel) => [kernel, ["slice", "preempt"]] as const),
  ...refused.map((kernel) => [kernel, []] as const),
  ...sliced.map((kernel) => [kernel, ["slice"]] as const),
])("%s has these variants: %s", (kernel, variants) => {
  const one = launches.find((row) => row.kernel === kernel);
  if (one === undefined) throw new Error(`${kernel} is gone`);
  const { fresh, ...rest } = corpusCase("sm_90", one);
  const names = rest.module.items.flatMap((item) =>
    item.kind === "function" && new RegExp(`^${kernel}__cotenant_(slice|preempt)$`).test(item.name)
      ? [item.name]
      : [],
  );
  expect(names.map((name) => name.replace(/.*__cotenant_/, ""))).toEqual(variants);
});

test("a variant that loses a barrier is found out", () => {
  const one = launches.find(({ kernel }) => kernel === "sort_bitonic");
  if (one === undefined) throw new Error("sort_bitonic is gone");
  const whole = corpusCase("sm_80", one);
  const text = printPlain(whole.module);
  const start = text.indexOf("sort_bitonic__cotenant_preempt(");
  // The barriers of the original's body, in the variant alone.
  const broken =
    text.slice(0, start) + text.slice(start).replaceAll(/^\s*bar(rier)?\.sync.*$/gm, "");
  const { differences } = compare({ ...whole, module: parse(broken) }, { ...quick, seeds: [1] });
  expect(differences.length).toBeGreaterThan(0);
  expect(withVariants(parse(text)).items.length).toBeGreaterThan(0);
});
