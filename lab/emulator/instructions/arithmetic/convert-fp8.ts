// Conversions of pairs of e4m3 and e5m2.
import type { Step } from "../../machine/warp.ts";
import { byteFloat, byteOf, isByteFloat } from "../../numbers/fp8.ts";
import { decode, encode } from "../../numbers/halves.ts";
import type { Site } from "../site.ts";

/** `cvt.rn.satfinite.e4m3x2.f32 d, a, b;`, the same from f16x2, and `cvt.rn.f16x2.e4m3x2 d, a;`. */
export function convertBytes(site: Site): Step {
  const { modifiers } = site.instruction.operation;
  const [to = "", from = ""] = modifiers.filter((one) => /^(e4m3x2|e5m2x2|f16x2|f32)$/.test(one));
  const known = /^(rn|satfinite|relu|e4m3x2|e5m2x2|f16x2|f32)$/;
  const type = (to.startsWith("e") ? to : from).slice(0, 4);
  if (!modifiers.every((one) => known.test(one)) || to === "f32" || !isByteFloat(type))
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
