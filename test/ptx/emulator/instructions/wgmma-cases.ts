// Products of warp groups on matrices laid out as PTX's manual draws them, each a kernel of one instruction. What
// every kernel leaves follows from a plain product; whoever has a GPU can run the same kernels there.
import { fill, type HopperCase, turn } from "./hopper-case.ts";
import {
  bytesOf,
  putElement,
  putFragment,
  putSum,
  type SumType,
  small,
  type Type,
} from "./matrix-bits.ts";

interface Layout {
  /** The dimension along which a piece of 16 bytes holds neighbours. */
  readonly along: "K" | "MN";
  readonly swizzle: 0 | 32 | 64 | 128;
}

interface Shape {
  readonly sums: SumType;
  readonly a: Type;
  readonly b: Type;
  readonly n: number;
  /** undefined: registers. */
  readonly left: Layout | undefined;
  readonly right: Layout;
  readonly adds?: boolean;
  readonly signs?: readonly [1 | -1, 1 | -1];
  /** Which of the steps along K that a swizzled row holds; 0 is the first. */
  readonly step?: number;
  readonly saturates?: boolean;
}

const M = 64;
const THREADS = 128;

/** A matrix' image in shared memory, and what its descriptor says beside the start. */
interface Image {
  readonly bytes: number;
  readonly leading: number;
  readonly stride: number;
  /** Where the product's part of it begins. */
  readonly start: number;
  /** Where element (mn, k) lies, k counted from the product's part. */
  readonly place: (mn: number, k: number) => number;
}

/** `size` rows along M or N. Distances are larger than need be, so that none can be taken for another. */
function image({ along, swizzle }: Layout, size: number, bytes: number, step: number): Image {
  const depth = 32 / bytes;
  if (along === "K" && swizzle === 0) {
    const [leading, stride] = [256, 640];
    const place = (mn: number, k: number) =>
      Math.floor(mn / 8) * stride +
      Math.floor((k * bytes) / 16) * leading +
      (mn % 8) * 16 +
      ((k * bytes) % 16);
    return { bytes: (size / 8) * stride + leading, leading, stride, start: 0, place };
  }
  if (along === "K") {
    const stride = 8 * swizzle + 1024;
    const place = (mn: number, k: number) => {
      const at = (k + step * depth) * bytes;
      const piece = turn(mn % 8, Math.floor(at / 16), swizzle);
      return Math.floor(mn / 8) * stride + (mn % 8) * swizzle + piece * 16 + (at % 16);
    };
    return { bytes: (size / 8) * stride, leading: 16, stride, start: step * 32, place };
  }
  if (swizzle === 0) {
    const [leading, stride] = [(size / 8) * 128 + 256, 128];
    const place = (mn: number, k: number) =>
      Math.floor(mn / 8) * stride + Math.floor(k / 8) * leading + (k % 8) * 16 + (mn % 8) * bytes;
    return { bytes: 2 * leading, leading, stride, start: 0, place };
  }
  const across = swizzle / bytes;
  const stride = 8 * swizzle;
  const leading = 2 * stride + 1024;
  const place = (mn: number, k: number) => {
    const at = (mn % across) * bytes;
    const piece = turn(k % 8, Math.floor(at / 16), swizzle);
    return (
      Math.floor(mn / across) * leading +
      Math.floor(k / 8) * stride +
      (k % 8) * swizzle +
      piece * 16 +
      (at % 16)
    );
  };
  return { bytes: Math.ceil(size / across) * leading, leading, stride, start: 0, place };
}

const modes = { 0: 0n, 128: 1n, 64: 2n, 32: 3n } as const;

/** A descriptor without its start. */
const descriptor = ({ leading, stride }: Image, { swizzle }: Layout): bigint =>
  (BigInt(leading / 16) << 16n) | (BigInt(stride / 16) << 32n) | (modes[swizzle] << 62n);

function product(shape: Shape): HopperCase {
  const { sums, a, b, n, left, right, adds = true, step = 0 } = shape;
  const [signA, signB] = shape.signs ?? [1, 1];
  const bytes = bytesOf(a);
  const depth = 32 / bytes;
  const positive = (type: Type, v: number) => (type === "u8" ? Math.abs(v) : v);
  const numberA = (row: number, k: number) => positive(a, small(1, row * depth + k));
  const numberB = (column: number, k: number) => positive(b, small(2, column * depth + k));

  const ofB = image(right, n, bytes, step);
  const ofA = left && image(left, M, bytes, step);
  const startOfA = Math.ceil(ofB.bytes / 1024) * 1024;
  const shared = new DataView(new ArrayBuffer(startOfA + (ofA?.bytes ?? 0)));
  new Uint8Array(shared.buffer).fill(0x77);
  for (let k = 0; k < depth; k++) {
    for (let i = 0; i < n; i++) putElement(shared, b, ofB.place(i, k), numberB(i, k));
    if (ofA !== undefined)
      for (let i = 0; i < M; i++) putElement(shared, a, startOfA + ofA.place(i, k), numberA(i, k));
  }
  const registersOfA = new DataView(new ArrayBuffer(4 * THREADS * 4));
  for (let row = 0; row < M; row++)
    for (let k = 0; k < depth; k++)
      putFragment(registersOfA, a, THREADS, "A", row, k, numberA(row, k));

  const registers = sums === "f16" ? n / 4 : n / 2;
  const before = new DataView(new ArrayBuffer(registers * THREADS * 4));
  const after = new DataView(new ArrayBuffer(registers * THREADS * 4));
  for (let row = 0; row < M; row++)
    for (let column = 0; column < n; column++) {
      const old = shape.saturates ? 2 ** 31 - 5 : small(3, row * n + column) * 5;
      let sum = 0;
      for (let k = 0; k < depth; k++) sum += numberA(row, k) * numberB(column, k);
      putSum(before, sums, THREADS, row, column, old);
      const total = (adds ? old : 0) + signA * signB * sum;
      putSum(
        after,
        sums,
        THREADS,
        row,
        column,
        shape.saturates ? Math.min(total, 2 ** 31 - 1) : total,
      );
    }

  const d = Array.from({ length: registers }, (_, i) => `%d${i}`).join(", ");
  const fields = [`{${d}}`, left === undefined ? "{%a0, %a1, %a2, %a3}" : "%descA", "%descB", "%p"];
  if (sums !== "s32") fields.push(String(signA), String(signB));
  if (bytes === 2) {
    if (left !== undefined) fields.push(left.along === "MN" ? "1" : "0");
    fields.push(right.along === "MN" ? "1" : "0");
  }
  const each = (of: (i: number) => string, count: number) =>
    Array.from({ length: count }, (_, i) => of(i)).join("\n");
  const type = `m64n${n}k${depth}.${sums}.${a}.${b}${shape.saturates ? ".satfinite" : ""}`;
  const ptx = `.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 left, .param .u64 sums) {
.shared .align 1024 .b8 tile[${shared.byteLength}];
.reg .b32 %d<${registers}>; .reg .b32 %a<4>; .reg .b32 %t, %i, %at, %word, %tile; .reg .pred %p, %more;
.reg .b64 %from, %left, %sums, %here, %descA, %descB;
ld.param.u64 %from, [image]; ld.param.u64 %left, [left]; ld.param.u64 %sums, [sums];
mov.u32 %t, %tid.x; mov.u32 %tile, tile;
shl.b32 %i, %t, 2;
mul.wide.u32 %here, %t, 4; add.u64 %left, %left, %here; add.u64 %sums, %sums, %here;
${fill(shared.byteLength, THREADS)}
${each((i) => `ld.global.b32 %d${i}, [%sums+${4 * THREADS * i}];`, registers)}
${each((i) => `ld.global.b32 %a${i}, [%left+${4 * THREADS * i}];`, 4)}
add.u32 %at, %tile, ${ofB.start}; shr.u32 %at, %at, 4; cvt.u64.u32 %descB, %at; or.b64 %descB, %descB, ${BigInt.asIntN(64, descriptor(ofB, right))};
add.u32 %at, %tile, ${startOfA + (ofA?.start ?? 0)}; shr.u32 %at, %at, 4; cvt.u64.u32 %descA, %at; or.b64 %descA, %descA, ${ofA && left ? BigInt.asIntN(64, descriptor(ofA, left)) : 0n};
setp.eq.u32 %p, 0, ${adds ? 0 : 1};
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.${type} ${fields.join(", ")};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
${each((i) => `st.global.b32 [%sums+${4 * THREADS * i}], %d${i};`, registers)}
ret;
}
`;
  const said = (layout: Layout | undefined) =>
    layout === undefined
      ? "registers"
      : `${layout.along}-major, ${layout.swizzle === 0 ? "no swizzle" : `${layout.swizzle} bytes`}`;
  const notes = [
    adds ? "" : "from 0",
    signA * signB < 0 ? "negated" : "",
    step > 0 ? `step ${step}` : "",
  ].filter((one) => one !== "");
  return {
    name: [`${type}, A ${said(left)}, B ${said(right)}`, ...notes].join(", "),
    ptx,
    threads: THREADS,
    buffers: [shared, registersOfA, before].map((view) => new Uint8Array(view.buffer)),
    maps: [],
    expected: new Uint8Array(after.buffer),
  };
}

const layouts: readonly Layout[] = (["K", "MN"] as const).flatMap((along) =>
  ([0, 32, 64, 128] as const).map((swizzle) => ({ along, swizzle })),
);
const k128: Layout = { along: "K", swizzle: 128 };
const f32 = { sums: "f32", a: "bf16", b: "bf16", n: 32, left: k128, right: k128 } as const;

export const products: readonly HopperCase[] = [
  // Every layout of each operand, and of both.
  ...layouts.map((left) => product({ ...f32, left })),
  ...layouts.map((right) => product({ ...f32, right, n: 64 })),
  ...layouts.map((right) => product({ ...f32, right, left: undefined, a: "f16", b: "f16" })),
  product({ ...f32, left: { along: "MN", swizzle: 64 }, right: { along: "MN", swizzle: 32 } }),
  // Further along K in a swizzled row.
  ...[1, 2, 3].map((step) => product({ ...f32, step, n: 16 })),
  product({
    ...f32,
    step: 1,
    left: { along: "K", swizzle: 64 },
    right: { along: "K", swizzle: 64 },
  }),
  // Widths.
  ...[8, 24, 128, 256].map((n) => product({ ...f32, n, right: { along: "K", swizzle: 32 } })),
  product({ ...f32, n: 96, right: { along: "MN", swizzle: 128 } }),
  // From 0, and negated.
  product({ ...f32, adds: false }),
  product({ ...f32, signs: [-1, 1] }),
  product({ ...f32, signs: [1, -1], left: undefined }),
  product({ ...f32, signs: [-1, -1], adds: false }),
  // Types.
  product({ ...f32, sums: "f16", a: "f16", b: "f16" }),
  product({ ...f32, sums: "f16", a: "f16", b: "f16", left: undefined, adds: false }),
  product({ ...f32, a: "tf32", b: "tf32" }),
  product({ ...f32, a: "tf32", b: "tf32", left: undefined, right: { along: "K", swizzle: 0 } }),
  product({ ...f32, a: "e4m3", b: "e4m3" }),
  product({ ...f32, a: "e5m2", b: "e4m3", left: undefined }),
  product({ ...f32, sums: "f16", a: "e4m3", b: "e5m2" }),
  product({ ...f32, sums: "s32", a: "s8", b: "s8" }),
  product({ ...f32, sums: "s32", a: "u8", b: "s8", left: undefined, adds: false }),
  product({ ...f32, sums: "s32", a: "u8", b: "u8", saturates: true }),
];
