import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Instruction,
  type Module,
  PtxError,
  parse,
  print,
  printPlain,
  type Statement,
} from "#ptx";
import { mutated, seeds } from "./mutation.ts";

const kernel = (body: string) => `.version 9.0\n.target sm_90a\n.address_size 64\n
.visible .entry k(.param .u64 p)\n{\n${body}\n}\n`;

function statements(body: string): readonly Statement[] {
  const func = parse(kernel(body)).items.find((one) => one.kind === "function");
  return func?.body ?? [];
}

function instruction(text: string): Instruction {
  const [one] = statements(text);
  if (one?.kind !== "instruction") throw new Error(`${text} is no instruction`);
  return one;
}

/** The tree without its spans. */
const bare = (module: Module) =>
  JSON.parse(
    JSON.stringify(module.items, (key, value) =>
      key === "at" || key === "end" || key === "bodyAt" || key === "bodyRead" ? undefined : value,
    ),
  );

test("an instruction comes apart into predicate, operation and operands", () => {
  const one = instruction(
    "@!%p1 ld.global.L1::evict_last.v2.b32 {%r1, _}, [ %rd1 + -16 ], 0f3F800000;",
  );
  expect(one).toMatchObject({
    predicate: { register: "%p1", negated: true },
    operation: { opcode: "ld", modifiers: ["global", "L1::evict_last", "v2", "b32"] },
    operands: [
      {
        kind: "vector",
        elements: [
          { kind: "name", name: "%r1" },
          { kind: "name", name: "_" },
        ],
      },
      { kind: "memory", base: { kind: "name", name: "%rd1" }, offset: "+-16", rest: [] },
      { kind: "immediate", text: "0f3F800000" },
    ],
  });
});

test("equal operations are one object", () => {
  const [a, b] = statements("add.s32 %r1, %r2, 1; add.s32 %r3, %r4, 2;");
  if (a?.kind !== "instruction" || b?.kind !== "instruction") throw new Error("no instructions");
  expect(a.operation).toBe(b.operation);
});

// Each is printed from the tree as it stands here.
test.each([
  "setp.lt.and.s32 %p1|%p2, %r1, -7, !%p3;",
  "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, 0xffffffff;",
  "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [image, sampler, {%r1, %r2}];",
  "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];",
  "call.uni (retval0), vprintf, (param0, param1);",
  "call (%r1), %rd1, (%r2), prototype_0;",
  "mov.u64 %rd1, table+8;",
  "mov.b64 {%r1, %r2}, %rd1;",
  "mov.u32 %r1, %tid.x;",
  "mov.u32 %r1, (1<<4)|3;",
  "mov.f64 %fd1, 1.5e-3;",
  "ld.shared.u32 %r1, [smem+4];",
  "ld.shared.u32 %r1, [64];",
  "vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1;",
  "@p bra.uni $L__BB0_1;",
  "bar.sync 0;",
  "ret;",
])("%s", (text) => {
  const [line] = printPlain(parse(kernel(text)))
    .split("\n")
    .slice(-3);
  expect(line?.trim()).toBe(text);
});

test("words are distinguished, however many and however long they are", () => {
  const names = Array.from({ length: 20_000 }, (_, i) => `%r${i}`);
  names.push("%r", "%r0.x", ...["a", "b"].map((last) => `%${"long_".repeat(60)}${last}`));
  const found = statements(names.map((name) => `mov.u32 ${name}, %r1;`).join("\n"));
  expect(found.map((one) => one.kind === "instruction" && one.operands[0])).toEqual(
    names.map((name) => ({ kind: "name", name })),
  );
  const [a, b] = statements(`prefetch.${"L1::".repeat(100)}a [%r1]; prefetch.L1::a [%r1];`);
  expect([a, b].map((one) => one?.kind === "instruction" && one.operation.modifiers)).toEqual([
    [`${"L1::".repeat(100)}a`],
    ["L1::a"],
  ]);
});

test("a dot may stand apart from its word", () => {
  expect(instruction("mov .u32 %r1, 1;").operation.text).toBe("mov.u32");
});

test("declarations keep alignment, vectors, counts, sizes and initial values", () => {
  const source = `.version 9.0
.target sm_90
.visible .global .align 8 .b8 text[6] = {72, 101, 108, 108, 111, 0};
.global .attribute(.managed) .u64 table[2] = {k, text+4};
.extern .shared .align 16 .b8 smem[];
.entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 q[12])
{
.reg .v4 .f32 %v;
.reg .b32 %r<4>, %x;
}
`;
  const { items } = parse(source);
  const variables = items.filter((one) => one.kind === "variable");
  expect(variables).toMatchObject([
    { linkage: ".visible", space: "global", align: 8, type: "b8", names: [{ dims: ["6"] }] },
    { attributes: ".attribute(.managed)", names: [{ init: "{k, text+4}" }] },
    { linkage: ".extern", space: "shared", names: [{ name: "smem", dims: [""] }] },
  ]);
  const func = items.find((one) => one.kind === "function");
  expect(func?.params).toMatchObject([
    { type: "u64", qualifiers: ".ptr .global .align 16" },
    { align: 8, names: [{ name: "q", dims: ["12"] }] },
  ]);
  expect(func?.body).toMatchObject([
    { vector: 4, type: "f32" },
    { names: [{ name: "%r", count: 4 }, { name: "%x" }] },
  ]);
});

test("functions keep linkage, results, directives and prototypes", () => {
  const source = `.version 9.0
.target sm_90
.extern .func (.param .b32 r) printf(.param .b64 a, .param .b64 b) .noreturn;
.weak .entry k() .maxntid 128, 1, 1 .minnctapersm 2 .pragma "nounroll"; { ret; }
`;
  expect(parse(source).items.slice(2)).toMatchObject([
    { linkage: ".extern", entry: false, name: "printf", body: undefined, returns: [{}] },
    {
      linkage: ".weak",
      entry: true,
      directives: [
        { name: ".maxntid", text: "128, 1, 1" },
        { name: ".minnctapersm", text: "2" },
        { name: ".pragma", text: '"nounroll"' },
      ],
    },
  ]);
});

test("what the tree does not model is kept as it was", () => {
  const source = kernel(`.loc 1 5 3, function_name $L__info0+4, inlined_at 1 2 3 bar.sync 0;
.pragma "nounroll";
table: .branchtargets $a, $b;
proto: .callprototype (.param .b32 _) _ (.param .b64 _);
$a: $b: ret;`);
  const func = parse(source).items.find((one) => one.kind === "function");
  const kept = func?.body?.filter((one) => one.kind === "verbatim").map(({ text }) => text);
  expect(kept).toEqual([
    ".loc 1 5 3, function_name $L__info0+4, inlined_at 1 2 3",
    '.pragma "nounroll";',
    ".branchtargets $a, $b;",
    ".callprototype (.param .b32 _) _ (.param .b64 _);",
  ]);
  // No instruction hides behind a location.
  expect(
    func?.body?.some((one) => one.kind === "instruction" && one.operation.opcode === "bar"),
  ).toBe(true);
});

test("of other kernels than the one that is asked for only the heads are read", () => {
  const source = `.func f() { ret; }
.entry a(.param .b32 x) { nonsense "}" { /* } */ } // }
@@DWARF }
}
.entry b() { ret; }
`;
  const bodies = (only?: string) =>
    parse(source, only).items.map((one) => one.kind === "function" && [one.name, one.body?.length]);
  expect(bodies("b")).toEqual([
    ["f", 1],
    ["a", undefined],
    ["b", 1],
  ]);
  expect(() => bodies("a")).toThrow(PtxError);
  expect(() => parse(source.slice(0, -4), "a")).toThrow(PtxError);
  expect(print(parse(source, "b"))).toBe(source);
});

/** Where each item begins and ends. */
const places = ({ items }: Module) => items.map(({ at, end }) => [at, end]);

test.each(seeds)("what is printed is what was read (%#)", (source) => {
  const module = parse(source);
  expect(print(module)).toBe(source);
  expect(places(parse(source, "no kernel"))).toEqual(places(module));
  const plain = printPlain(module);
  expect(bare(parse(plain))).toEqual(bare(module));
  expect(printPlain(parse(plain))).toBe(plain);
});

test.each([
  ["nonsense", 1, 1, 'no directive begins so, at "nonsense"'],
  [".version 9.0\n/* open", 2, 1, 'a comment that never ends at "/* open"'],
  [".entry k(\n.param .u32 a .u32 b)", 2, 15, '"," is missing at ".u32 b)"'],
  [kernel("mov.u32 %r1 %r2;"), 7, 13, 'a comma or ";" is missing at "%r2;"'],
  [kernel("mov.u32 %r1, ;"), 7, 14, 'an operand is missing at ";"'],
  [kernel("ld.u32 %r1, [%r2;"), 7, 17, '"]" is missing at ";"'],
  [kernel("= 1;"), 7, 1, 'no statement begins so, at "= 1;"'],
  [".entry k()\n{\n ret;", 2, 1, 'the "}" is missing of the body that begins at "{"'],
  [".global .align x .u32 a;", 1, 16, "a number is missing"],
  [".reg .b32 %r<99999999999>;", 1, 14, "not a number of registers"],
  ['.file 1 "unfinished', 1, 9, "a string that never ends"],
  [kernel("@%p1 ;"), 7, 6, "a name is missing"],
])("an error says where and what (%#)", (source, line, column, text) => {
  let caught: unknown;
  try {
    parse(source);
  } catch (error) {
    caught = error;
  }
  expect(caught).toBeInstanceOf(PtxError);
  const { line: foundLine, column: foundColumn, message } = caught as PtxError;
  expect([foundLine, foundColumn, message]).toEqual([line, column, expect.stringContaining(text)]);
});

test("brackets nested without end are refused, not followed until the stack is full", () => {
  for (const open of ["{", "[", "(", "{(", "@p {"])
    expect(() => parse(kernel(`mov.u32 %r1, ${open.repeat(100_000)}`))).toThrow(PtxError);
  expect(() => parse(kernel("{".repeat(100_000)))).toThrow(PtxError);
});

test("mutated PTX is read or refused with a place; what is read prints as it was", () => {
  fc.assert(
    fc.property(mutated, (source) => {
      let module: Module;
      try {
        module = parse(source);
      } catch (error) {
        expect(error).toBeInstanceOf(PtxError);
        return;
      }
      expect(print(module)).toBe(source);
      expect(bare(parse(printPlain(module)))).toEqual(bare(module));
    }),
    { numRuns: 3000 },
  );
});
