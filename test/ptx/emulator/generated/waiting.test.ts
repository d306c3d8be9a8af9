// Random kernels with and without waits for other blocks: what the legality check lets pass comes to the same end one
// block after the other.
import fc from "fast-check";
import { expect, test } from "vitest";
import { DeviceMemory } from "#emulator";
import { legality, parse, preempt, slice } from "#ptx";
import { compare } from "../differential.ts";
import { judge } from "./waiting.ts";
import { drawingProgram, gridOf, waitingProgram, waitingSource } from "./waiting-programs.ts";

test.each([
  {
    which: "all kinds of steps",
    programs: waitingProgram,
    count: 150,
    least: { legal: 18, waiting: 7 },
  },
  {
    which: "drawn numbers",
    programs: drawingProgram,
    count: 100,
    least: { legal: 15, waiting: 3 },
  },
])("kernels that are legal end without blocks that have not been started: $which", (kind) => {
  let legal = 0;
  let waiting = 0;
  fc.assert(
    fc.property(kind.programs, (program) => {
      const source = waitingSource(program);
      const { wrong, slice, ends, alone } = judge(source, gridOf(program));
      if (wrong !== "") expect.fail(`${wrong}\n${source}`);
      if (slice && ends) legal += 1;
      if (ends && !alone) waiting += 1;
    }),
    { numRuns: kind.count, seed: 1 },
  );
  // The test is worth something only if there are many of both.
  expect(legal).toBeGreaterThan(kind.least.legal);
  expect(waiting).toBeGreaterThan(kind.least.waiting);
});

/** Each block adds up what the blocks from `first` on to the one before it have left; `number`: of the block. */
const lookingBack = (number: string, back: number) => `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 table, .param .u64 out) {
.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<12>;
ld.param.u64 %rd1, [table]; ld.param.u64 %rd2, [out];
mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 ret;
${number}
mul.wide.s32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
mov.u32 %r10, 1;
WAIT: ld.relaxed.gpu.global.u32 %r9, [%rd4+${4 * (8 - back)}]; setp.eq.u32 %p2, %r9, 0; @%p2 bra WAIT;
add.u32 %r10, %r10, %r9;
st.global.u32 [%rd5], %r10;
st.release.gpu.global.u32 [%rd4+32], %r10;
ret;
}
`;
const product = (slow: string, size: string, fast: string) =>
  `mov.u32 %r3, ${slow}; mov.u32 %r4, ${size}; mov.u32 %r5, ${fast}; mad.lo.s32 %r2, %r3, %r4, %r5;`;

test.each([
  ["row", "mov.u32 %r2, %ctaid.x;", [6, 1, 1], { slice: true, preempt: true }],
  [
    "columns",
    product("%ctaid.x", "%nctaid.y", "%ctaid.y"),
    [3, 4, 1],
    { slice: false, preempt: true },
  ],
  [
    "columns",
    product("%ctaid.x", "%nctaid.y", "%ctaid.y"),
    [4, 3, 1],
    { slice: false, preempt: true },
  ],
  [
    "columns",
    product("%ctaid.x", "%nctaid.y", "%ctaid.y"),
    [6, 1, 1],
    { slice: false, preempt: true },
  ],
  [
    "columns",
    product("%ctaid.x", "%nctaid.y", "%ctaid.y"),
    [1, 6, 1],
    { slice: false, preempt: true },
  ],
  [
    "rows",
    product("%ctaid.y", "%nctaid.x", "%ctaid.x"),
    [3, 4, 1],
    { slice: false, preempt: false },
  ],
  [
    "columns of another size",
    product("%ctaid.x", "%nctaid.x", "%ctaid.y"),
    [3, 3, 1],
    { slice: false, preempt: false },
  ],
  [
    "turned columns",
    product("%ctaid.y", "%nctaid.y", "%ctaid.x"),
    [3, 3, 1],
    { slice: false, preempt: false },
  ],
] as const)(
  "blocks numbered by %s that look back: %s in a grid of %j",
  (_, number, grid, expected) => {
    for (const back of [1, 2]) {
      const module = parse(lookingBack(number, back));
      const [report] = legality(module);
      expect({ slice: report?.slice.legal, preempt: report?.preempt.legal }).toEqual(expected);
      if (!expected.preempt) continue;
      const blocks = grid[0] * grid[1];
      const { differences, runs, resumed } = compare(
        {
          module: slice(preempt(module)),
          kernel: "k",
          grid,
          block: [32, 1, 1],
          fresh() {
            const memory = new DeviceMemory();
            // Eight entries before those of the blocks are there from the beginning.
            const table = memory.upload(
              Int32Array.from({ length: blocks + 8 }, (_, i) => (i < 8 ? 1 : 0)),
            );
            const out = memory.allocate(4 * blocks);
            return { memory, args: [table, out], contents: () => [memory.read(out, 4 * blocks)] };
          },
        },
        { workers: [1, 2], seeds: [0, 1], widths: [1], everyStop: true, stoppedBy: ["counter"] },
      );
      expect(differences).toEqual([]);
      expect(runs).toBeGreaterThan(0);
      expect(resumed).toBeGreaterThan(0);
    }
  },
);
