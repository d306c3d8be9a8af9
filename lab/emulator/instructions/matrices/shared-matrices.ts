// Matrices in shared memory as wgmma's descriptors describe them (PTX ISA 9.0, "Asynchronous warpgroup-level matrix
// shared memory layout"). They consist of pieces of 16 bytes. A matrix is "K-major" if a piece holds neighbours along
// K, the dimension that a product sums over, else "MN-major".
import type { Block } from "../../machine/block.ts";
import { KernelError, outOfBounds } from "../../machine/errors.ts";
import { type Swizzle, swizzleAddress } from "../memory/swizzle.ts";
import type { Element } from "./matrix-elements.ts";

interface Descriptor {
  readonly start: number;
  /** In bytes. The meaning depends on swizzle and order. */
  readonly leading: number;
  readonly stride: number;
  readonly swizzle: Swizzle;
}

const PIECE = 16;
/** Bytes along K, the dimension that one product sums over. */
export const DEPTH_BYTES = 32;
/** By bits 62 and 63 of the descriptor. */
const swizzles: readonly Swizzle[] = [0, 128, 64, 32];

/**
 * Reads a descriptor of two words. Bits 0 to 13, 16 to 29 and 32 to 45 hold addresses and distances in units of 16
 * bytes.
 */
function describe(low: number, high: number): Descriptor {
  if (((high >>> 17) & 7) !== 0)
    throw new KernelError("PTX_NOT_EMULATED", "a matrix descriptor with a base offset");
  return {
    start: (low & 0x3fff) * PIECE,
    leading: ((low >>> 16) & 0x3fff) * PIECE,
    stride: (high & 0x3fff) * PIECE,
    swizzle: swizzles[high >>> 30] as Swizzle,
  };
}

/** Bytes from the matrix' start to the element `along` M or N and `k`, before the swizzle. */
type Location = (along: number, k: number) => number;

/**
 * Groups of 8 rows are `stride` apart. Within a group, rows follow each other. Without a swizzle they do so by pieces,
 * and the next piece along K is `leading` away; with one, by whole rows of the swizzle.
 */
function alongK({ leading, stride, swizzle }: Descriptor, bytes: number): Location {
  const row = swizzle === 0 ? PIECE : swizzle;
  const next = swizzle === 0 ? leading : PIECE;
  return (along, k) => {
    const at = k * bytes;
    return (along >> 3) * stride + (along & 7) * row + (at >> 4) * next + (at & 15);
  };
}

/**
 * Along M or N: with a swizzle a row of it, then `leading` to the next; without one a piece, then `stride` to the next.
 * Along K: 8 rows, then `stride` to the next 8, or `leading` without a swizzle.
 */
function alongMN({ leading, stride, swizzle }: Descriptor, bytes: number): Location {
  const row = swizzle === 0 ? PIECE : swizzle;
  const [across, down] = swizzle === 0 ? [stride, leading] : [leading, stride];
  return (along, k) => {
    const at = along * bytes;
    return Math.floor(at / row) * across + (at % row) + (k & 7) * row + (k >> 3) * down;
  };
}

/** A matrix and its place in shared memory. */
interface SharedMatrix {
  readonly element: Element;
  readonly descriptor: Descriptor;
  readonly place: Location;
}

/** The matrix that a descriptor of two words describes. */
export function matrixAt(
  low: number,
  high: number,
  element: Element,
  mnMajor: boolean,
): SharedMatrix {
  const descriptor = describe(low, high);
  const place = (mnMajor ? alongMN : alongK)(descriptor, element.bytes);
  return { element, descriptor, place };
}

/** `count` rows along M or N from `first` on, each of 32 bytes along K, as numbers. */
export function readMatrix(
  { shared, running }: Block,
  { element, descriptor, place }: SharedMatrix,
  first: number,
  count: number,
  into: Float64Array,
): void {
  const { start, swizzle } = descriptor;
  const depth = DEPTH_BYTES / element.bytes;
  for (let row = 0; row < count; row++)
    for (let k = 0; k < depth; k++) {
      const at = swizzleAddress(start + place(first + row, k), swizzle);
      if (at + element.bytes > running.sharedBytes)
        throw outOfBounds(
          "a matrix element",
          `0x${at.toString(16)} in shared memory`,
          element.bytes,
          0,
        );
      into[row * depth + k] = element.at(shared, at);
    }
}
