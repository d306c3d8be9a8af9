// Small whole numbers as the elements of matrices, and where a warp's lanes keep sums of products.

export type Type = keyof typeof bitsOf;
export type SumType = "f32" | "f16" | "s32";

/** Bits of whole numbers of -3 to 3. */
const bitsOf = {
  f16: (v: number) => sign(v, 15) | ([0, 0x3c00, 0x4000, 0x4200][Math.abs(v)] as number),
  bf16: (v: number) => sign(v, 15) | ([0, 0x3f80, 0x4000, 0x4040][Math.abs(v)] as number),
  // The bits that tf32 has no use for are set: they must not count.
  tf32: (v: number) =>
    sign(v, 31) | ([0, 0x3f800000, 0x40000000, 0x40400000][Math.abs(v)] as number) | 0x1fff,
  e4m3: (v: number) => sign(v, 7) | ([0, 0x38, 0x40, 0x44][Math.abs(v)] as number),
  e5m2: (v: number) => sign(v, 7) | ([0, 0x3c, 0x40, 0x42][Math.abs(v)] as number),
  s8: (v: number) => v & 0xff,
  u8: (v: number) => Math.abs(v),
} as const;
const sign = (v: number, bit: number) => (v < 0 ? 1 << bit : 0);
export const bytesOf = (type: Type) => (type === "tf32" ? 4 : type.endsWith("f16") ? 2 : 1);

/** Numbers of -3 to 3 that follow from their place. */
export const small = (seed: number, i: number) =>
  ((Math.imul(i + 11 * seed + 1, 0x9e3779b1) >>> 16) % 7) - 3;

/** Puts a number's bits at a byte. */
export function putElement(view: DataView, type: Type, at: number, value: number): void {
  const bits = bitsOf[type](value);
  const bytes = bytesOf(type);
  if (bytes === 4) view.setUint32(at, bits, true);
  else if (bytes === 2) view.setUint16(at, bits, true);
  else view.setUint8(at, bits);
}

/**
 * Puts an element of A (rows of a warp: 16) or B (columns: 8) where its thread keeps it: in words of neighbours
 * along K, four lanes a row, then the next register. Of A each second register holds the upper 8 rows.
 */
export function putFragment(
  view: DataView,
  type: Type,
  threads: number,
  of: "A" | "B",
  row: number,
  k: number,
  value: number,
): void {
  const inWord = 4 / bytesOf(type);
  const along = Math.floor(k / (4 * inWord));
  const register = of === "A" ? Math.floor((row % 16) / 8) + 2 * along : along;
  const warp = of === "A" ? Math.floor(row / 16) : 0;
  const lane = (row % 8) * 4 + (Math.floor(k / inWord) % 4);
  const at = (register * threads + warp * 32 + lane) * 4 + (k % inWord) * bytesOf(type);
  putElement(view, type, at, value);
}

/** Where sum (row, column) is: whose register, which of them, which half. */
function sumAt(sums: SumType, row: number, column: number) {
  const thread = Math.floor(row / 16) * 32 + (row % 8) * 4 + Math.floor((column % 8) / 2);
  const upper = Math.floor((row % 16) / 8);
  const group = Math.floor(column / 8);
  return sums === "f16"
    ? { thread, register: 2 * group + upper, half: column % 2 }
    : { thread, register: 4 * group + 2 * upper + (column % 2), half: 0 };
}

/** Puts a sum where its thread keeps it: registers one behind the other, each with a word for every thread. */
export function putSum(
  view: DataView,
  type: SumType,
  threads: number,
  row: number,
  column: number,
  value: number,
): void {
  const { thread, register, half } = sumAt(type, row, column);
  const at = (register * threads + thread) * 4;
  if (type === "f32") view.setFloat32(at, value, true);
  else if (type === "s32") view.setInt32(at, value, true);
  else view.setUint16(at + 2 * half, halfBits(value), true);
}

/** Bits of a whole number below 2048. */
function halfBits(value: number): number {
  const size = Math.abs(value);
  if (size === 0) return 0;
  const exponent = Math.floor(Math.log2(size));
  return (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | (size * 2 ** (10 - exponent) - 1024);
}
