// A part of what bench/ptx does with all files: what is printed assembles to the same machine code, and variants
// assemble.
import { describe, expect, test } from "vitest";
import { parse } from "./parse.ts";
import { preempt } from "./passes/preempt.ts";
import { slice } from "./passes/slice.ts";
import { unifySync } from "./passes/unify-sync.ts";
import { print, printPlain } from "./print.ts";
import { assemble, corpora, hasPtxas, keepsCode, sameCode } from "./ptxas.ts";
import { verify } from "./verify.ts";

const files = corpora();
const ptxas = hasPtxas();
if (!ptxas) console.warn("SKIPPED: nothing is assembled, because ptxas is missing.");
test.each(files)("$corpus/$name prints as it was, and its names are in order", ({ text }) => {
  const module = parse(text);
  expect(print(module)).toBe(text);
  const plain = printPlain(module);
  expect(printPlain(parse(plain))).toBe(plain);
  expect(verify(module)).toEqual([]);
});

/** One of each kind, so that it takes seconds. */
const sample = files.filter(({ name, corpus }) =>
  corpus === "Triton"
    ? name === "010"
    : corpus === "own, sm_90" && /^(barriers|functions)$/.test(name),
);

describe.skipIf(!ptxas || sample.length === 0)("ptxas", () => {
  test.each(sample)("makes the same of $corpus/$name, and takes its variants", ({ text }) => {
    const module = parse(text);
    const { cubin } = assemble(text);
    expect(cubin).toBeDefined();
    expect(assemble(print(module)).cubin?.equals(cubin ?? Buffer.of())).toBe(true);
    expect(sameCode(assemble(printPlain(module)).cubin, cubin)).toBe(true);
    const variants = print(unifySync(preempt(slice(module))));
    expect(verify(parse(variants))).toEqual([]);
    const { said, cubin: assembled } = assemble(variants);
    expect(assembled, said).toBeDefined();
    // The kernels that the module had are what they were.
    expect(keepsCode(cubin, assembled)).toBe(true);
  });
});
