// A launch of the corpus, and short names for its arguments.

type Extent = readonly [number, number, number];

/** An argument: a scalar, a buffer with what is in it before the launch, a texture, or a struct by value. */
export type Argument =
  | { readonly kind: "scalar"; readonly type: Scalar; readonly value: number }
  | Buffer
  | { readonly kind: "texture"; readonly width: number; readonly height: number }
  | { readonly kind: "struct"; readonly fields: readonly Argument[] };

export interface Buffer {
  readonly kind: "buffer";
  readonly type: Element;
  readonly count: number;
  /** "zero", or random in [low, high]: whole numbers for integer types, and for floats if `whole`. */
  readonly fill: "zero" | { readonly low: number; readonly high: number; readonly whole: boolean };
}

type Scalar = "i32" | "u32" | "f32" | "f64" | "i16";
export type Element = "u8" | "i8" | "i16" | "i32" | "u32" | "i64" | "f16" | "bf16" | "f32" | "f64";

export interface Launch {
  readonly kernel: string;
  readonly file: string;
  readonly grid: Extent;
  readonly block: Extent;
  readonly dynamicShared?: number;
  readonly args: readonly Argument[];
  /** Only compiled for sm_90. */
  readonly hopper?: true;
  /** The code of the error that the emulator ends with. */
  readonly ends?: string;
}

export const i32 = (value: number): Argument => ({ kind: "scalar", type: "i32", value });
export const u32 = (value: number): Argument => ({ kind: "scalar", type: "u32", value });
export const f32 = (value: number): Argument => ({ kind: "scalar", type: "f32", value });
export const f64 = (value: number): Argument => ({ kind: "scalar", type: "f64", value });
export const i16 = (value: number): Argument => ({ kind: "scalar", type: "i16", value });
export const random = (type: Element, count: number, low: number, high: number): Argument => ({
  kind: "buffer",
  type,
  count,
  fill: { low, high, whole: false },
});
/** Whole numbers, so that sums in any order are the same. */
export const whole = (type: Element, count: number, low: number, high: number): Argument => ({
  kind: "buffer",
  type,
  count,
  fill: { low, high, whole: true },
});
export const zeros = (type: Element, count: number): Argument => ({
  kind: "buffer",
  type,
  count,
  fill: "zero",
});

type Row = Omit<Launch, "file" | "kernel" | "grid" | "block" | "args">;
const size = (extent: readonly number[]): Extent => [
  extent[0] ?? 1,
  extent[1] ?? 1,
  extent[2] ?? 1,
];
export const launch = (
  file: string,
  kernel: string,
  grid: readonly number[],
  block: readonly number[],
  args: readonly Argument[],
  more: Row = {},
): Launch => ({ file, kernel, grid: size(grid), block: size(block), args, ...more });
