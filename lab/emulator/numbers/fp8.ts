// e4m3 and e5m2, floats of a byte (OCP 8-bit Floating Point Specification, 1.0): bits to numbers and back.
import { decode } from "./halves.ts";
import { type Format, toFormat } from "./rounding.ts";

export type ByteFloat = "e4m3" | "e5m2";

const formats: Readonly<Record<ByteFloat, Format & { readonly most: number }>> = {
  // There are no infinities. The largest exponent stands for numbers too, except that all ones are NaN.
  e4m3: { precision: 4, lowest: -6, highest: 8, most: 448 },
  e5m2: { precision: 3, lowest: -14, highest: 15, most: 57344 },
};

export const isByteFloat = (type: string): type is ByteFloat => type in formats;

/** The canonical NaN. */
const NAN = 0x7f;

function numberOf(bits: number, type: ByteFloat): number {
  // e5m2 is the upper byte of an f16.
  if (type === "e5m2") return decode.f16(bits << 8);
  const sign = bits & 0x80 ? -1 : 1;
  const exponent = (bits >> 3) & 15;
  const fraction = bits & 7;
  if (exponent === 15 && fraction === 7) return Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -9 : (8 + fraction) * 2 ** (exponent - 10));
}

const numbersOf = (type: ByteFloat) =>
  Float64Array.from({ length: 256 }, (_, bits) => numberOf(bits, type));

const decoded = { e4m3: numbersOf("e4m3"), e5m2: numbersOf("e5m2") };

/** The number that the low byte stands for. */
export const byteFloat = (bits: number, type: ByteFloat): number =>
  decoded[type][bits & 0xff] as number;

/** Rounds to nearest, ties to even. Too large values, also infinity, become the largest number (`.satfinite`). */
export function byteOf(value: number, type: ByteFloat): number {
  if (Number.isNaN(value)) return NAN;
  const format = formats[type];
  const size = Math.min(Math.abs(toFormat(value, format, "rn")), format.most);
  const sign = value < 0 || Object.is(value, -0) ? 0x80 : 0;
  const digits = format.precision - 1;
  if (size < 2 ** format.lowest) return sign | (size / 2 ** (format.lowest - digits));
  const exponent = Math.floor(Math.log2(size));
  const fraction = (size / 2 ** exponent - 1) * 2 ** digits;
  return sign | ((exponent - format.lowest + 1) << digits) | fraction;
}
