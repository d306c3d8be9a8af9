// fp16 and bf16: bits to numbers and back.
import { BF16, F16, type Format, type Rounding, toFormat } from "./rounding.ts";

const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);

export type HalfType = "f16" | "bf16";

/** PTX's canonical NaN of 16 bits. */
const NAN_HALF = 0x7fff;

export const formatOf = (type: HalfType): Format => (type === "f16" ? F16 : BF16);

function decodeF16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 31;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

const decodedF16 = Float64Array.from({ length: 65536 }, (_, bits) => decodeF16(bits));

function decodeBf16(bits: number): number {
  u32[0] = bits << 16;
  return f32[0] as number;
}

/** The number that 16 bits stand for; the bits above are ignored. */
export const decode: Readonly<Record<HalfType, (bits: number) => number>> = {
  f16: (bits) => decodedF16[bits & 0xffff] as number,
  bf16: decodeBf16,
};

/** The bits of a number that the format holds exactly. */
function pack(value: number, type: HalfType): number {
  if (Number.isNaN(value)) return NAN_HALF;
  if (type === "bf16") {
    f32[0] = value;
    return (u32[0] as number) >>> 16;
  }
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size === 0) return sign;
  if (size > 65504) return sign | 0x7c00;
  if (size < 2 ** -14) return sign | (size * 2 ** 24);
  f32[0] = size;
  const bits = u32[0] as number;
  return sign | (((bits >>> 23) - 112) << 10) | ((bits >>> 13) & 0x3ff);
}

/** Rounds a double that is exact or was rounded to odd. */
export const encode = (value: number, type: HalfType, mode: Rounding): number =>
  pack(toFormat(value, formatOf(type), mode), type);
