import { expect, test } from "vitest";
import { parse } from "./parse.ts";
import { verify } from "./verify.ts";

const HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n";

/** Problems of a kernel with %p<2>, %r<4> and %rd<2>; the body begins in line 8. */
const problems = (body: string, before = "") =>
  verify(
    parse(`${HEADER}${before}
.entry k(.param .u32 n) {
.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>;

${body}
}
`),
  ).map(({ line, column, text }) => `${line}:${column} ${text}`);

test("correct names give no problem", () => {
  const before =
    ".extern .func f(.param .b32 a); .global .u32 g; .extern .shared .b8 s[]; .extern .shared .b8 s[];";
  expect(
    problems(
      `ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.u64 %rd1, g+4; mov.u32 %r2, s;
setp.lt.u32 %p0|%p1, %r0, WARP_SZ; @!%p0 bra $end; { .reg .b32 %r0; mov.u32 %r0, %envreg3; bra $end; }
{ .param .b32 a; st.param.b32 [a], %r3; call f, (a); } mov.u32 _, %r3;
$end: ret;`,
      before,
    ),
  ).toEqual([]);
});

test.each([
  ["mov.u32 %r4, 0;", "8:1 %r4 is not declared"],
  ["mov.u32 %r01, 0;", "8:1 %r01 is not declared"],
  ["ld.global.u32 %r1, [%rd7+4];", "8:1 %rd7 is not declared"],
  ["add.u32 %r1, {%r2, %q}, 1;", "8:1 %q is not declared"],
  ["mov.u32 %r1, %tid.x; mov.u32 %r1, %tad.x;", "8:22 %tad is not declared"],
  ["@%r1 ret;", "8:1 %r1 is .b32, not a predicate"],
  ["@%p7 ret;", "8:1 %p7 is not declared"],
  ["setp.eq.u32 %r1, %r2, 0;", "8:1 %r1 is .b32, not a predicate"],
  ["bra $nowhere;", "8:1 there is no label $nowhere to branch to"],
  ["bra $inner; { $inner: ret; }", "8:1 there is no label $inner to branch to"],
  ["brx.idx %r1, list;", "8:1 there is no label list to branch to"],
  ["call nobody;", "8:1 there is no function nobody to call"],
  [".reg .b32 %x; .reg .b64 %x;", "8:15 %x is declared twice"],
  [".reg .b32 n;", "8:1 n is declared twice"],
  ["$a: $a: ret;", "8:5 $a is declared twice"],
])("%s", (body, problem) => {
  expect(problems(body)).toEqual([problem]);
});

test("a name that the module declares twice is found", () => {
  const source = `${HEADER}.global .u32 g;\n.shared .u32 g;\n.func f() { ret; }\n.func f() { ret; }\n`;
  expect(verify(parse(source)).map(({ line, text }) => `${line} ${text}`)).toEqual([
    "5 g is declared twice",
    "7 f is declared twice",
  ]);
});

test("a large file with many problems is verified", () => {
  const body = "mov.u32 %x, 0;\n".repeat(100_000);
  expect(problems(body).at(-1)).toBe("100007:1 %x is not declared");
});
