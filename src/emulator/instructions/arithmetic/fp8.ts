// e4m3 and e5m2, floats of a byte (OCP 8-bit Floating Point Specification, 1.0): bits to numbers and back, and the
// conversions of pairs of them.

import type { Step } from "../../machine/warp.ts";
import { decode, encode } from "../../numbers/halves.ts";
import { type Format, toFormat } from "../../numbers/rounding.ts";
import type { Site } from "../site.ts";

export type ByteFloat = "e4m3" | "e5m2";

const formats: Readonly<Record<ByteFloat, Format & { readonly most: number }>> = {
  // No infinities: the largest exponent holds numbers, too, but all ones is none.
  e4m3: { precision: 4, lowest: -6, highest: 8, most: 448 },
  e5m2: { precision: 3, lowest: -14, highest: 15, most: 57344 },
};

/** The canonical one. */
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

/** To the nearest, ties to even; what is too large, also infinity, becomes the largest (`.satfinite`). */
function byteOf(value: number, type: ByteFloat): number {
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

/** `cvt.rn.satfinite.e4m3x2.f32 d, a, b;`, the same from f16x2, and `cvt.rn.f16x2.e4m3x2 d, a;`. */
export function convertBytes(site: Site): Step {
  const { modifiers } = site.instruction.operation;
  const [to = "", from = ""] = modifiers.filter((one) => /^(e4m3x2|e5m2x2|f16x2|f32)$/.test(one));
  const known = /^(rn|satfinite|relu|e4m3x2|e5m2x2|f16x2|f32)$/;
  const type = (to.startsWith("e") ? to : from).slice(0, 4) as ByteFloat;
  if (!modifiers.every((one) => known.test(one)) || to === "f32" || !(type in formats))
    return site.fail("this conversion");
  const relu = site.has("relu");
  const kept = (x: number) => (relu && x < 0 ? 0 : x);
  if (to === "f16x2") {
    const d = site.write(site.operand(0), "b32");
    const a = site.read(site.operand(1), "b16");
    const half = (bits: number) => encode(kept(byteFloat(bits, type)), "f16", "rn");
    return (w, lanes, n) => {
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        const bits = w.i32[a + l] as number;
        w.i32[d + l] = (half(bits >>> 8) << 16) | half(bits);
      }
    };
  }
  const d = site.write(site.operand(0), "b16");
  const pair = (x: number, y: number) => (byteOf(kept(x), type) << 8) | byteOf(kept(y), type);
  if (from === "f32") {
    const [a, b] = [site.read(site.operand(1), from), site.read(site.operand(2), from)];
    return (w, lanes, n) => {
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        w.i32[d + l] = pair(w.f32[a + l] as number, w.f32[b + l] as number);
      }
    };
  }
  const a = site.read(site.operand(1), "b32");
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const bits = w.i32[a + l] as number;
      w.i32[d + l] = pair(decode.f16(bits >>> 16), decode.f16(bits));
    }
  };
}
