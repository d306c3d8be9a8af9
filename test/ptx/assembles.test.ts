// A part of what bench/ptx does with all files: what is printed assembles to the same machine code, and variants
// assemble.
import { describe, expect, test } from "vitest";
import { parse, preempt, print, printPlain, slice, unifySync, verify } from "#ptx";
import { assemble, corpora, hasPtxas, keepsCode, sameCode } from "./ptxas.ts";

const files = corpora();
const ptxas = hasPtxas();
if (!ptxas && process.env.CI)
  throw new Error("ptxas is missing: put the folder bin of $(scripts/cuda-tools) into PATH.");
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

/** Every instruction in which ptxas takes a special register, in each width that it takes there. */
const READS = ["ctaid", "nctaid"].flatMap((what) =>
  ["x", "y", "z"].flatMap((axis) => {
    const special = `%${what}.${axis}`;
    return [
      ...["u16", "s16", "b16"].map((type) => `mov.${type} %rs1, ${special};`),
      ...["u32", "s32", "b32"].map((type) => `mov.${type} %r1, ${special};`),
      ...["u8", "u16", "u32", "s16", "s32"].map((type) => `cvt.u32.${type} %r1, ${special};`),
      ...["u8", "u16", "u32"].map((type) => `cvt.u16.${type} %rs1, ${special};`),
      `cvt.u64.u32 %rd2, ${special};`,
      `@%p1 mov.u16 %rs1, ${special};`,
      `st.global.v2.u16 [%rd1], {${special}, %ctaid.y};`,
      `st.global.v2.u32 [%rd1], {${special}, %ctaid.y};`,
    ];
  }),
);

const DECLARED = ".reg .pred %p<2>; .reg .b16 %rs<2>; .reg .b32 %r<2>; .reg .b64 %rd<3>;";

const kernelOf = (reads: readonly string[]) => `.version 9.0
.target sm_90a
.address_size 64
.func helper(.param .b64 p)
{
${DECLARED}
ld.param.u64 %rd1, [p];
${reads.join("\n")}
ret;
}
.visible .entry k(.param .u64 p)
{
${DECLARED}
ld.param.u64 %rd1, [p];
${reads.join("\n")}
{ .param .b64 q; st.param.b64 [q], %rd1; call helper, (q); }
ret;
}
`;

test.skipIf(!ptxas)("ptxas takes variants of a block's number that is read in any width", () => {
  const text = kernelOf(READS);
  const original = assemble(text);
  expect(original.cubin, original.said).toBeDefined();
  const module = preempt(slice(parse(text)));
  for (const variant of ["k__cotenant_slice(", "k__cotenant_preempt("])
    expect(print(module)).toContain(variant);
  const { said, cubin } = assemble(print(module));
  expect(cubin, said).toBeDefined();
});
