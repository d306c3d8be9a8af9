import { describe, expect, test } from "vitest";
import { parse } from "../syntax/parse.ts";
import { print } from "../syntax/print.ts";
import { verify } from "../syntax/verify.ts";
import { extractKernel } from "./extract-kernel.ts";
import { preempt } from "./preempt.ts";

const source = `
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 4 .u32 counter;
.shared .align 4 .b8 tile[128];
.shared .align 4 .b8 other_tile[128];
.visible .func helper (.param .b32 x)
{
  ret;
}
.visible .func unused () { ret; }
.visible .entry tiled (.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  .loc 1 5 3
  mov.u32 %r1, tile;
  { .loc 1 6 1
    .param .b32 p0;
    st.param.b32 [p0], %r1;
    call.uni helper, (p0);
  }
  ret;
}
.visible .entry counting ()
{
  .reg .b32 %r<3>;
  atom.global.add.u32 %r1, [counter], 1;
  ret;
}
.global .align 1 .b8 $str$1[4] = {104, 105, 10};
.global .align 1 .b8 __unnamed_1[3] = {107, 40, 41};
.visible .global .align 1 .b8 $str$2[4] = {104, 105, 10};
.global .align 4 .b8 table[8] = {1, 2, 3, 4};
.global .align 8 .u64 $str$3[1] = {generic(counter)};
.visible .entry says ()
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  mov.u64 %rd1, $str$1;
  cvta.global.u64 %rd2, %rd1;
  { .param .b64 p0; .param .b64 p1; .param .b32 r0;
    st.param.b64 [p0], %rd2;
    st.param.b64 [p1], 0;
    call.uni (r0), vprintf, (p0, p1);
  }
  ret;
}
.visible .entry looksUp ()
{
  .reg .b32 %r<3>;
  ld.global.u32 %r1, [table];
  ret;
}
.visible .entry saysWhatOthersMayChange ()
{
  .reg .b32 %r<3>;
  ld.global.u8 %r1, [$str$2];
  ret;
}
.visible .entry saysWhereSomethingIs ()
{
  .reg .b64 %rd<3>;
  ld.global.u64 %rd1, [$str$3];
  ret;
}
.visible .entry empty () { ret; }
.file 1 "source.cu"
.section .debug_str
{
$L__info:
  .b8 65
}
`;

const printExtracted = (kernel: string): string => {
  const made = extractKernel(parse(source, kernel), kernel);
  if ("reason" in made) throw new Error(made.reason);
  return print(made);
};

describe("a kernel alone", () => {
  test("has what it needs and nothing else", () => {
    const text = printExtracted("tiled");
    for (const there of [".version 8.0", ".target sm_80", "tile[128]", "helper", ".entry tiled"])
      expect(text).toContain(there);
    for (const gone of [
      "other_tile",
      "unused",
      "counting",
      "counter",
      "vprintf",
      ".loc",
      ".debug_str",
      ".file",
    ])
      expect(text).not.toContain(gone);
    expect(verify(parse(text))).toEqual([]);
  });

  test("of a variant has the functions of the variant", () => {
    const made = extractKernel(preempt(parse(source)), "tiled__cotenant_preempt");
    if ("reason" in made) throw new Error(made.reason);
    const text = print(made);
    expect(text.match(/\.entry/g)).toHaveLength(1);
    expect(verify(parse(text))).toEqual([]);
  });

  test("is the same whether or not other kernels were read", () => {
    const made = extractKernel(parse(source), "tiled");
    if ("reason" in made) throw new Error(made.reason);
    expect(print(made)).toBe(printExtracted("tiled"));
  });

  test("has its own copy of the texts that it prints", () => {
    const text = printExtracted("says");
    expect(text).toContain("$str$1[4] = {104, 105, 10}");
    for (const gone of ["__unnamed_1", "$str$2", "table"]) expect(text).not.toContain(gone);
    expect(verify(parse(text))).toEqual([]);
  });

  test.each([
    { kernel: "looksUp", reason: "it uses table, which is the module's own" },
    { kernel: "saysWhatOthersMayChange", reason: "it uses $str$2, which is the module's own" },
    { kernel: "saysWhereSomethingIs", reason: "it uses $str$3, which is the module's own" },
    { kernel: "counting", reason: "it uses counter, which is the module's own" },
    { kernel: "missing", reason: "the module has no kernel missing" },
    { kernel: "helper", reason: "the module has no kernel helper" },
  ])("$kernel is refused", ({ kernel, reason }) => {
    expect(extractKernel(parse(source), kernel)).toEqual({ reason });
  });
});
