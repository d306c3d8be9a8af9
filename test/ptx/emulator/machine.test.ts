// The machine around the instructions: divergence, barriers, hangs, faults; and a run follows from its seed.

import { describe, expect, test } from "vitest";
import { UserError } from "#core";
import { DeviceMemory, type Extent, launch } from "#emulator";
import { parse } from "#ptx";

const kernel = (body: string, before = "") =>
  parse(`.version 8.7
.target sm_90
.address_size 64
${before}
.visible .entry k(.param .u64 p0) {
.reg .u64 %rd<20>; .reg .b32 %r<20>; .reg .pred %p<10>; .reg .f32 %f<10>;
ld.param.u64 %rd1, [p0];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
${body}
ret;
}
`);

interface Shape {
  readonly threads?: number;
  readonly grid?: Extent;
  readonly seed?: number;
  readonly limit?: number;
  readonly words?: number;
}

function run(
  body: string,
  { threads = 64, grid = [1, 1, 1], words = 64, ...more }: Shape = {},
  before = "",
) {
  const memory = new DeviceMemory();
  const address = memory.allocate(4 * words);
  launch(kernel(body, before), "k", {
    grid,
    block: [threads, 1, 1],
    args: [address],
    memory,
    ...more,
  });
  return [...new Int32Array(memory.read(address, 4 * words).buffer)];
}

function failure(body: string, shape?: Shape): UserError {
  try {
    run(body, shape);
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error("nothing failed");
}

describe("faults name kernel, line, thread and instruction", () => {
  test.each<[string, string, string]>([
    [
      "a store behind the buffer",
      "setp.ne.u32 %p1, %r1, 40; @%p1 ret; st.global.u32 [%rd3+256], %r1;",
      "k, line 11: a store of 4 bytes at 0x10000001a0 is out of bounds (block (0, 0, 0), thread (40, 0, 0)): st.global.u32 [%rd3+256], %r1;",
    ],
    [
      "a null pointer",
      "mov.u64 %rd4, 0; ld.global.u32 %r2, [%rd4];",
      "k, line 11: a load of 4 bytes at 0x0 is out of bounds (block (0, 0, 0), thread (0, 0, 0)): ld.global.u32 %r2, [%rd4];",
    ],
    [
      "an address off its grid",
      "ld.global.u64 %rd4, [%rd1+4];",
      "k, line 11: a load of 8 bytes at 0x1000000004 is not aligned to 8 (block (0, 0, 0), thread (0, 0, 0)): ld.global.u64 %rd4, [%rd1+4];",
    ],
    [
      "shared memory that is not there",
      "st.shared.u32 [%r1], %r1;",
      "k, line 11: a store of 4 bytes at 0x0 in shared memory is out of bounds (block (0, 0, 0), thread (0, 0, 0)): st.shared.u32 [%r1], %r1;",
    ],
    ["a trap", "trap;", "k, line 11: trap (block (0, 0, 0), thread (0, 0, 0)): trap;"],
    [
      "what is not emulated",
      "tcgen05.wait::ld.sync.aligned;",
      "k, line 11: not emulated: tcgen05.wait::ld.sync.aligned; (tensor memory)",
    ],
    [
      "what nobody knows",
      "frobnicate.u32 %r1, %r2;",
      "k, line 11: not emulated: frobnicate.u32 %r1, %r2; (this instruction)",
    ],
    [
      "a lane outside its own mask",
      "shfl.sync.idx.b32 %r2, %r1, 0, 31, 1;",
      "k, line 11: the mask 0x1 leaves out the lane (block (0, 0, 0), thread (1, 0, 0)): shfl.sync.idx.b32 %r2, %r1, 0, 31, 1;",
    ],
  ])("%s", (_what, body, message) => {
    expect(failure(body).message).toBe(message);
  });

  test("a launch that cannot be", () => {
    const memory = new DeviceMemory();
    const shape = { grid: [1, 1, 1], block: [32, 1, 1], memory } as const;
    expect(() => launch(kernel(""), "other", { ...shape, args: [] })).toThrow('no kernel "other"');
    expect(() => launch(kernel(""), "k", { ...shape, args: [] })).toThrow(
      "k can't be launched: it has 1 parameters, 0 were given.",
    );
    expect(() => launch(kernel(""), "k", { ...shape, grid: [0, 1, 1], args: [0] })).toThrow(
      "its grid 0 x 1 x 1 is not three whole numbers above 0",
    );
    expect(() => launch(kernel(""), "k", { ...shape, block: [32, 64, 1], args: [0] })).toThrow(
      "a block of 2048 threads is over 1024",
    );
  });
});

describe("hangs are told from work", () => {
  test("a barrier that half a block does not come to, but has not left either", () => {
    const body = `setp.lt.u32 %p1, %r1, 32;
@%p1 bra A;
bar.sync 1;
bra B;
A: bar.sync 2;
B: st.global.u32 [%rd3], %r1;`;
    const error = failure(body);
    expect(error.code).toBe("PTX_DEADLOCK");
    expect(error.message).toBe(
      "k hangs: every thread that is left waits. block (0, 0, 0), line 15: 32 threads wait for barrier 2; block (0, 0, 0), line 13: 32 threads wait for barrier 1.",
    );
  });

  test("lanes that a shuffle names and that wait elsewhere", () => {
    const body = `setp.lt.u32 %p1, %r1, 8;
@%p1 bra A;
shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;
A: bar.sync 0;
st.global.u32 [%rd3], %r1;`;
    expect(failure(body).code).toBe("PTX_DEADLOCK");
  });

  test("a loop without an end", () => {
    expect(failure("A: bra A;", { limit: 10_000 }).code).toBe("PTX_TOO_LONG");
  });

  test("lanes of a warp at two barriers instructions for one barrier", () => {
    const body = `and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0;
@%p1 bra A;
bar.sync 0;
bra B;
A: bar.sync 0;
B: st.global.u32 [%rd3], %r1;`;
    expect(failure(body).code).toBe("PTX_BAD_BARRIER");
  });
});

describe("divergence", () => {
  test("a lane gets on while others of its warp spin on what it stores", () => {
    const body = `setp.eq.u32 %p1, %r1, 31;
@%p1 bra SET;
WAIT: ld.volatile.global.u32 %r2, [%rd1];
setp.eq.u32 %p2, %r2, 0;
@%p2 bra WAIT;
bra DONE;
SET: st.volatile.global.u32 [%rd1], 1;
DONE: st.global.u32 [%rd3+128], %r1;`;
    expect(run(body, { threads: 32, words: 64 }).slice(32)).toEqual(
      Array.from({ length: 32 }, (_, i) => i),
    );
  });

  test("lanes that went apart add up their ballots again behind the join", () => {
    const body = `and.b32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 0;
@%p1 bra A;
add.u32 %r1, %r1, 100;
A: activemask.b32 %r3;
st.global.u32 [%rd3], %r3;`;
    expect(new Set(run(body, { threads: 32 }).slice(0, 32))).toEqual(new Set([-1]));
  });

  test("those that exited are not waited for", () => {
    const body = `setp.ge.u32 %p1, %r1, 40;
@%p1 exit;
bar.sync 0;
vote.sync.ballot.b32 %r2, 1, 0xffffffff;
st.global.u32 [%rd3], %r2;`.replace(
      "vote.sync.ballot.b32 %r2, 1,",
      "setp.eq.u32 %p2, %r1, %r1; vote.sync.ballot.b32 %r2, %p2,",
    );
    const found = run(body);
    expect(found.slice(30, 42)).toEqual([-1, -1, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0]);
  });
});

test("a race shows: its result depends on the seed, and on nothing else", () => {
  const body =
    "mov.u32 %r4, %ctaid.x; shr.u32 %r5, %r1, 5; shl.b32 %r4, %r4, 4; or.b32 %r4, %r4, %r5; st.global.u32 [%rd1], %r4;";
  const winner = (seed: number) => run(body, { grid: [6, 1, 1], seed })[0];
  const seeds = Array.from({ length: 12 }, (_, i) => i);
  expect(seeds.map(winner)).toEqual(seeds.map(winner));
  expect(new Set(seeds.map(winner)).size).toBeGreaterThan(1);
});

test("module variables keep what a launch left in them, in one memory", () => {
  const before = ".global .align 4 .u32 count = 7;\n.const .align 4 .u32 step[2] = {10, 100};";
  const module = kernel(
    `mov.u64 %rd5, count; mov.u64 %rd6, step;
ld.const.u32 %r2, [step+4]; ld.const.u32 %r3, [%rd6];
add.u32 %r2, %r2, %r3; atom.global.add.u32 %r4, [%rd5], %r2;
st.global.u32 [%rd3], %r4;`,
    before,
  );
  const memory = new DeviceMemory();
  const address = memory.allocate(4);
  const once = () => {
    launch(module, "k", { grid: [1, 1, 1], block: [1, 1, 1], args: [address], memory });
    return new Int32Array(memory.read(address, 4).buffer)[0];
  };
  expect([once(), once()]).toEqual([7, 117]);
});

describe("branches by number", () => {
  const jump = (index: string) => `
    ${index}
    list: .branchtargets ONE, TWO, THREE;
    brx.idx %r2, list;
    ONE: st.global.u32 [%rd3], 1; ret;
    TWO: st.global.u32 [%rd3], 2;
    THREE: atom.global.add.u32 %r3, [%rd3], 10;`;

  test("each lane goes where its number says", () => {
    expect(run(jump("rem.u32 %r2, %r1, 3;")).slice(0, 6)).toEqual([1, 12, 10, 1, 12, 10]);
  });

  test("a number beyond the list is an error", () => {
    expect(() => run(jump("mov.u32 %r2, 3;"))).toThrow("not in the list of targets");
  });
});
