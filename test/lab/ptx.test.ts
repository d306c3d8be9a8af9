import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { dispatch } from "#cli";
import { UserError } from "#core";
import { laboratory } from "#lab";

const folder = mkdtempSync(join(tmpdir(), "ptx-"));
afterAll(() => rmSync(folder, { recursive: true }));

const kernel = `.version 8.0
.target sm_80
.address_size 64
.visible .entry number(.param .u64 out, .param .u32 plus)
{
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	ld.param.u32 %r1, [plus];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.u32 %r2, %r2, %r3, %r4;
	add.u32 %r5, %r2, %r1;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r5;
	ret;
}
.visible .entry timed()
{
	.reg .b64 %rd1;
	mov.u64 %rd1, %clock64;
	ret;
}
`;

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
const good = file("good.ptx", kernel);

/** Exit status and what was printed to stdout and stderr. */
async function cotenant(...words: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  vi.spyOn(console, "log").mockImplementation((text) => void out.push(`${text}`));
  vi.spyOn(console, "error").mockImplementation((text) => void err.push(`${text}`));
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    out.push(`${text}`);
    return true;
  });
  try {
    const status = await dispatch(laboratory, ["ptx", ...words]);
    return { status, out: out.join("\n"), err: err.join("\n") };
  } finally {
    vi.restoreAllMocks();
  }
}

test("check says what is legal, and why something is not", async () => {
  expect(await cotenant("check", good)).toEqual({
    status: 0,
    err: "",
    out: `${good}: PTX 8.0 for sm_80, 2 kernels
kernel  line  slice  preempt
number  4     legal  legal
timed   20    legal  refused
timed: preempt refused, line 23: %clock64 is read [clock]`,
  });
  const { out } = await cotenant("check", good, "--json");
  expect(JSON.parse(out)).toMatchObject({
    target: "sm_80",
    problems: [],
    kernels: [
      { kernel: "number", preempt: { legal: true, sharedBytes: 64 } },
      { kernel: "timed", preempt: { legal: false, reasons: [{ code: "clock", line: 23 }] } },
    ],
  });
});

test("check finds names that are out of order", async () => {
  const wrong = file("wrong.ptx", kernel.replace("add.u32 %r5, %r2, %r1", "add.u32 %x, %r2, %r1"));
  const { status, out } = await cotenant("check", wrong);
  expect([status, out]).toEqual([
    1,
    expect.stringContaining("line 14, column 2: %x is not declared"),
  ]);
});

test("slice and preempt print the module with its variants, and say what was refused", async () => {
  const sliced = await cotenant("slice", good);
  expect(sliced).toMatchObject({ status: 0, err: `ptx: slice: 2 of 2 kernels of ${good}` });
  expect(sliced.out.startsWith(kernel.trimEnd().slice(0, 200))).toBe(true);
  expect(sliced.out).toContain(".visible .entry timed__cotenant_slice(");
  const to = join(folder, "out.ptx");
  const preempted = await cotenant("preempt", good, "--out", to);
  expect(preempted.err).toBe(`ptx: preempt: 1 of 2 kernels of ${good}
ptx: timed refused, line 23: %clock64 is read [clock]`);
  expect(readFileSync(to, "latin1")).toContain("number__cotenant_preempt(");
  const { out } = await cotenant("preempt", good, "--json");
  expect(JSON.parse(out)).toMatchObject({ changed: ["number"], refused: [{ kernel: "timed" }] });
});

test("run runs a kernel and shows memory", async () => {
  const words = [
    "--kernel",
    "number",
    "--grid",
    "2",
    "--block",
    "4",
    "--arg",
    "u32[16]",
    "--arg",
    "7",
  ];
  const { status, out } = await cotenant("run", good, ...words, "--show", "10");
  expect([status, out]).toEqual([
    0,
    expect.stringContaining("argument 0, u32[16]: 7 8 9 10 11 12 13 14 0 0 ..."),
  ]);
  const document = JSON.parse((await cotenant("run", good, ...words, "--json")).out);
  expect(document.memories).toEqual([
    { argument: 0, type: "u32", count: 16, values: [7, 8, 9, 10, 11, 12, 13, 14] },
  ]);
});

test.each([
  [["look", good], 'no "look"'],
  [["check", good, "more"], 'does not know what to do with "more"'],
  [["check", join(folder, "none.ptx")], "can't be read"],
  [
    ["check", file("bad.ptx", ".version 8.0\n?")],
    'Line 2, column 1: no directive begins so, at "?"',
  ],
  [["check", file("empty.ptx", "")], "empty.ptx is not PTX: it says no .version."],
  [["run", good], "has 2 kernels"],
  [["run", good, "--kernel", "other"], "has no kernel other"],
  [["run", good, "--kernel", "number", "--arg", "x"], "--arg x: neither a number nor memory"],
  [["run", good, "--kernel", "number", "--arg", "u32[0]"], "neither a number nor memory"],
  [["run", good, "--kernel", "number", "--grid", "1,0"], "--grid 1,0: not one to three"],
  [["run", good, "--kernel", "number", "--grid", "99999999999"], "CUDA's grids end at"],
  [["run", good, "--kernel", "number", "--arg", "u32[99999999]"], "more than 16777216 values"],
  [["run", good, "--kernel", "number", "--arg", "s32[4]=1.5"], "1.5 is no s32"],
  [["run", good, "--shared", "999999999999"], "not a whole number from 0 to 232448"],
  [["check", good, "--out", "report.txt"], "--out is for slice and preempt"],
])("%s is refused in a sentence", async (words, sentence) => {
  const error = await cotenant(...words).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UserError);
  expect((error as UserError).message).toContain(sentence);
});
