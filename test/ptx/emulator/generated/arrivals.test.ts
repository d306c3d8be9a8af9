// Random kernels that leave arrivals in barriers: what the legality check lets pass is right in its preemptible variant.
import { expect, test } from "vitest";
import { parse, preempt, print, slice } from "#ptx";
import { assemble, hasPtxas } from "../../ptxas.ts";
import { judgeArrival, judgeArrivals } from "./arrivals.ts";
import { type Arriving, arrivingSource } from "./arrivals-programs.ts";

const PROGRAMS = 80;

test("barriers are empty when a block ends", () => {
  const { legal, refused } = judgeArrivals(PROGRAMS, 1);
  // The test is worth something only if there are many of both.
  expect(legal).toBeGreaterThan(PROGRAMS / 8);
  expect(refused).toBeGreaterThan(PROGRAMS / 8);
});

const usual: Arriving = {
  groups: 2,
  warps: 2,
  others: 1,
  turns: 3,
  opens: "last",
  last: "arrives",
  ids: "computed",
  count: "constant",
  extra: "each block",
  form: "bar",
  barrier: "other id",
};

test.each([
  ["the arrivals that complete it", /^\s*@%cotenant_is barrier\.arrive .*$/gm],
  ["the counts", /^.*red\.shared\.add\.u32.*$/gm],
  ["the warps that have arrived", /^.*red\.shared\.or\.b32.*$/gm],
  ["the counts of the block before it forgotten", /^\s*st\.shared\.v2\.u32 .*$/gm],
])("the variant needs %s", (_, part) => {
  expect(judgeArrival(usual)).toEqual({ is: "legal", wrong: "" });
  const without = (text: string) => {
    expect(text).toMatch(part);
    return text.replaceAll(part, "");
  };
  expect(judgeArrival(usual, without).wrong).not.toBe("");
});

test.skipIf(!hasPtxas())("ptxas takes its variants", () => {
  const { said, cubin } = assemble(print(slice(preempt(parse(arrivingSource(usual))))));
  expect(cubin, said).toBeDefined();
});
