// Elements of matrices that tensor cores multiply: from their bits to numbers.

import type { Segment } from "../../machine/memory.ts";
import { byteFloat } from "../../numbers/fp8.ts";
import { decode } from "../../numbers/halves.ts";

export interface Element {
  readonly bytes: 1 | 2 | 4;
  /** The number that the low bits of a word stand for. */
  readonly number: (word: number) => number;
  /** The element at a byte offset. */
  readonly at: (segment: Segment, offset: number) => number;
}

const words = new Int32Array(1);
const floats = new Float32Array(words.buffer);

/** tf32 is a float whose last 13 bits do not count. */
function tf32(word: number): number {
  words[0] = word & ~0x1fff;
  return floats[0] as number;
}

const byte = (number: (bits: number) => number): Element => {
  const numbers = Float64Array.from({ length: 256 }, (_, bits) => number(bits));
  return {
    bytes: 1,
    number: (word) => numbers[word & 0xff] as number,
    at: (segment, offset) => numbers[segment.u8[offset] as number] as number,
  };
};

const half = (number: (bits: number) => number): Element => ({
  bytes: 2,
  number: (word) => number(word & 0xffff),
  at: (segment, offset) => number(segment.u16[offset >> 1] as number),
});

export const matrixElements: Readonly<Record<string, Element>> = {
  f16: half(decode.f16),
  bf16: half(decode.bf16),
  tf32: {
    bytes: 4,
    number: tf32,
    at: (segment, offset) => tf32(segment.i32[offset >> 2] as number),
  },
  e4m3: byte((bits) => byteFloat(bits, "e4m3")),
  e5m2: byte((bits) => byteFloat(bits, "e5m2")),
  s8: byte((bits) => (bits << 24) >> 24),
  u8: byte((bits) => bits),
};
