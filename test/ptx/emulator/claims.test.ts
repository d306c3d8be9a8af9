// Blocks that are over sooner than a claim are claimed a few at a time, and all of them run once.

import { expect, test } from "vitest";
import { DeviceMemory, launch } from "#emulator";
import { appended, parse, preempt } from "#ptx";

/** Code that computes the number of a block of a grid with rows. */
const OF_ROWS = `
  mov.u32 %r2, %ctaid.y;
  mov.u32 %r3, %nctaid.x;
  mad.lo.u32 %r1, %r2, %r3, %r1;`;

const kernel = (body: string, rows: string) => `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<3>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %ctaid.x;
  ${rows}
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  ${body}
  atom.global.add.u32 %r4, [%rd3], 1;
  ret;
}
`;

const LONG = `
  mov.u32 %r5, 0;
again:
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, 4000;
  @%p1 bra again;`;

/** How often the counter was added to, and how often each block ran. */
function claimsOf(
  body: string,
  [x, y]: readonly [number, number],
  workers: number,
  rows = OF_ROWS,
) {
  const memory = new DeviceMemory();
  const out = memory.upload(new Uint32Array(x * y));
  const control = memory.upload(new Uint32Array(2));
  let claims = 0;
  launch(preempt(parse(kernel(body, rows))), `k${appended.preempt.suffix}`, {
    grid: [1 + workers, 1, 1],
    block: [1, 1, 1],
    args: [out, control, 0, x, y, 1, 1],
    memory,
    onAtomic: (address) => {
      if (address === control + 4) claims += 1;
    },
  });
  return { claims, ran: new Uint32Array(memory.read(out, 4 * x * y).buffer) };
}

test("short blocks are claimed a few at a time, over the ends of rows, fewer towards the end", () => {
  const { claims, ran } = claimsOf("", [7, 30], 2);
  expect([...ran]).toEqual(new Array(210).fill(1));
  expect(claims).toBeLessThan(210 / 2);
  expect(claims).toBeGreaterThan(210 / 4);
});

test("long blocks are claimed one by one", () => {
  const { claims, ran } = claimsOf(LONG, [5, 4], 2);
  expect([...ran]).toEqual(new Array(20).fill(1));
  // Each worker finds once that there are none left.
  expect(claims).toBe(20 + 2);
});

/** One in four is long. */
const MIXED = `
  and.b32 %r5, %r1, 3;
  setp.ne.u32 %p2, %r5, 0;
  @%p2 bra short;
  mov.u32 %r5, 0;
again:
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, 16000;
  @%p1 bra again;
short:`;

test("short blocks among long ones are claimed one by one", () => {
  const { claims, ran } = claimsOf(MIXED, [40, 1], 2);
  expect([...ran]).toEqual(new Array(40).fill(1));
  expect(claims).toBeGreaterThan(40 - 4);
});

/** Each block waits for the one before it. */
const CHAIN = `
wait:
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra go;
  ld.acquire.gpu.global.u32 %r5, [%rd3+-4];
  setp.eq.u32 %p2, %r5, 0;
  @%p2 bra wait;
go:`;

test("blocks that wait for each other are claimed one by one", () => {
  const { claims, ran } = claimsOf(CHAIN, [20, 1], 2, "");
  expect([...ran]).toEqual(new Array(20).fill(1));
  expect(claims).toBe(20 + 2);
});
