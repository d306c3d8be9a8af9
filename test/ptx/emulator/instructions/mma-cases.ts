// Products of a warp (mma.sync) of every type, each a kernel of one instruction on fragments from memory.
import type { HopperCase } from "./hopper-case.ts";
import { bytesOf, putFragment, putSum, type SumType, small, type Type } from "./matrix-bits.ts";

const M = 16;
const N = 8;
const THREADS = 32;

function product(sums: SumType, a: Type, b: Type, depth: number): HopperCase {
  const positive = (type: Type, v: number) => (type === "u8" ? Math.abs(v) : v);
  const numberA = (row: number, k: number) => positive(a, small(4, row * depth + k));
  const numberB = (column: number, k: number) => positive(b, small(5, column * depth + k));
  const counts = {
    a: (depth * bytesOf(a)) / 8,
    b: (depth * bytesOf(a)) / 16,
    c: sums === "f16" ? 2 : 4,
  };
  const view = (registers: number) => new DataView(new ArrayBuffer(registers * THREADS * 4));
  const [left, right, before, after] = [
    view(counts.a),
    view(counts.b),
    view(counts.c),
    view(counts.c),
  ];
  for (let k = 0; k < depth; k++) {
    for (let row = 0; row < M; row++) putFragment(left, a, THREADS, "A", row, k, numberA(row, k));
    for (let i = 0; i < N; i++) putFragment(right, b, THREADS, "B", i, k, numberB(i, k));
  }
  for (let row = 0; row < M; row++)
    for (let column = 0; column < N; column++) {
      const old = small(6, row * N + column) * 5;
      let sum = old;
      for (let k = 0; k < depth; k++) sum += numberA(row, k) * numberB(column, k);
      putSum(before, sums, THREADS, row, column, old);
      putSum(after, sums, THREADS, row, column, sum);
    }

  const names = (what: keyof typeof counts) =>
    Array.from({ length: counts[what] }, (_, i) => `%${what}${i}`);
  const vector = (what: keyof typeof counts) => `{${names(what).join(", ")}}`;
  const moved = (what: keyof typeof counts, line: (register: string, offset: number) => string) =>
    names(what)
      .map((register, i) => line(register, 4 * THREADS * i))
      .join("\n");
  const type = `m16n8k${depth}.row.col.${sums}.${a}.${b}.${sums}`;
  const ptx = `.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c) {
.reg .b32 %t, %a<4>, %b<2>, %c<4>; .reg .b64 %left, %right, %sums, %here;
ld.param.u64 %left, [a]; ld.param.u64 %right, [b]; ld.param.u64 %sums, [c];
mov.u32 %t, %tid.x; mul.wide.u32 %here, %t, 4;
add.u64 %left, %left, %here; add.u64 %right, %right, %here; add.u64 %sums, %sums, %here;
${moved("a", (register, offset) => `ld.global.b32 ${register}, [%left+${offset}];`)}
${moved("b", (register, offset) => `ld.global.b32 ${register}, [%right+${offset}];`)}
${moved("c", (register, offset) => `ld.global.b32 ${register}, [%sums+${offset}];`)}
mma.sync.aligned.${type} ${vector("c")}, ${vector("a")}, ${vector("b")}, ${vector("c")};
${moved("c", (register, offset) => `st.global.b32 [%sums+${offset}], ${register};`)}
ret;
}
`;
  return {
    name: `mma ${type}`,
    ptx,
    threads: THREADS,
    buffers: [left, right, before].map(({ buffer }) => new Uint8Array(buffer)),
    maps: [],
    expected: new Uint8Array(after.buffer),
  };
}

export const warpProducts: readonly HopperCase[] = [
  product("f32", "f16", "f16", 16),
  product("f32", "f16", "f16", 8),
  product("f16", "f16", "f16", 16),
  product("f32", "bf16", "bf16", 16),
  product("f32", "tf32", "tf32", 8),
  product("f32", "tf32", "tf32", 4),
  product("f32", "e4m3", "e5m2", 32),
  product("s32", "s8", "s8", 32),
  product("s32", "u8", "s8", 16),
];
