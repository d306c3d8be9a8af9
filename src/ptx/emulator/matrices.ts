// Matrix fragments: ldmatrix, stmatrix and mma.sync. Sums are formed in double precision and rounded once to
// the accumulator's type; the hardware's order and width of accumulation are its own, so its last bits differ.
import { Fault } from "./faults.ts";
import { decode, encode } from "./halves.ts";
import { together } from "./lanes.ts";
import { bracketed, locate, pieces, spaceOf } from "./moves.ts";
import type { Compile, Meaning, Slot } from "./site.ts";
import type { Warp } from "./warp.ts";

function whole(n: number, lanes: Uint8Array): void {
  if (n !== 32) throw new Fault("PTX_BAD_MASK", "not all lanes of the warp take part", lanes[0]);
}

/** Eight rows of 16 bytes each, whose addresses lanes 8 i to 8 i + 7 give for matrix i. */
const matrixMove =
  (loads: boolean): Compile =>
  (site) => {
    if (!site.has("m8n8") || site.has("b8")) return site.fail("this shape");
    const registers = pieces(site.operand(loads ? 0 : 1));
    const slots = registers.map((one) => (loads ? site.write(one, "b32") : site.read(one, "b32")));
    const find = locate(
      site.address(bracketed(site, loads ? 1 : 0), spaceOf(site)),
      16,
      "a matrix row",
    );
    const transposed = site.has("trans");
    return together(undefined, (w, lanes, n) => {
      whole(n, lanes);
      const rows = Array.from({ length: 8 * slots.length }, (_, lane) => find(w, lane));
      for (let i = 0; i < slots.length; i++) {
        const slot = slots[i] as Slot;
        for (let l = 0; l < 32; l++) {
          const row = l >> 2;
          const column = (l & 3) * 2;
          const first = place(rows, i, transposed, row, column);
          const second = place(rows, i, transposed, row, column + 1);
          const { u16 } = w.segment;
          if (loads) w.i32[slot + l] = (u16[first] as number) | ((u16[second] as number) << 16);
          else {
            const word = w.i32[slot + l] as number;
            u16[first] = word;
            u16[second] = word >>> 16;
          }
        }
      }
    });
  };

/** Index of an element of matrix i, in 16-bit units. */
const place = (
  rows: readonly number[],
  i: number,
  transposed: boolean,
  row: number,
  column: number,
): number =>
  transposed
    ? (rows[8 * i + column] as number) / 2 + row
    : (rows[8 * i + row] as number) / 2 + column;

type Element = (w: Warp, slots: readonly Slot[], row: number, column: number) => number;

/** Element (row, k) of a 16 x K fragment of halves: 8 x 8 pieces, rows first, then columns. */
const elementOfA =
  (number: (bits: number) => number): Element =>
  (w, slots, row, k) => {
    const piece = (row >> 3) + 2 * (k >> 3);
    const word = w.i32[(slots[piece] as number) + (row & 7) * 4 + ((k & 7) >> 1)] as number;
    return number(k & 1 ? word >>> 16 : word & 0xffff);
  };

const elementOfB =
  (number: (bits: number) => number): Element =>
  (w, slots, k, column) => {
    const word = w.i32[(slots[k >> 3] as number) + column * 4 + ((k & 7) >> 1)] as number;
    return number(k & 1 ? word >>> 16 : word & 0xffff);
  };

/** The same for tf32 words: 8 x 4 pieces. */
const wordOfA: Element = (w, slots, row, k) =>
  w.f32[(slots[(row >> 3) + 2 * (k >> 2)] as number) + (row & 7) * 4 + (k & 3)] as number;
const wordOfB: Element = (w, slots, k, column) =>
  w.f32[(slots[k >> 2] as number) + column * 4 + (k & 3)] as number;

const mma: Compile = (site): Meaning => {
  const { modifiers } = site.instruction.operation;
  const shape = modifiers.find((one) => /^m\d+n\d+k\d+$/.test(one)) ?? "";
  const depth = Number(/^m16n8k(\d+)$/.exec(shape)?.[1] ?? 0);
  const [dType, aType, bType, cType] = modifiers.slice(-4);
  const halves =
    (aType === "f16" || aType === "bf16") && aType === bType && (depth === 8 || depth === 16);
  const words = aType === "tf32" && bType === "tf32" && (depth === 4 || depth === 8);
  const sums = dType === cType && (dType === "f32" || (dType === "f16" && halves));
  if ((!halves && !words) || !sums || !site.has("row") || !site.has("col"))
    return site.fail("this shape or type");
  const number = decode[aType === "bf16" ? "bf16" : "f16"];
  const atA = halves ? elementOfA(number) : wordOfA;
  const atB = halves ? elementOfB(number) : wordOfB;
  const ofHalf = dType === "f16";
  const d = pieces(site.operand(0)).map((one) => site.write(one, "b32"));
  const [a, b, c] = [1, 2, 3].map((i) =>
    pieces(site.operand(i)).map((one) => site.read(one, "b32")),
  ) as [Slot[], Slot[], Slot[]];
  const result = new Float64Array(128);
  return together(undefined, (w, lanes, n) => {
    whole(n, lanes);
    for (let row = 0; row < 16; row++)
      for (let column = 0; column < 8; column++) {
        let sum = accumulator(w, c, row, column, ofHalf);
        for (let k = 0; k < depth; k++) sum += atA(w, a, row, k) * atB(w, b, k, column);
        result[row * 8 + column] = sum;
      }
    for (let l = 0; l < 32; l++)
      for (let half = 0; half < 2; half++) {
        const at = ((l >> 2) + 8 * half) * 8 + (l & 3) * 2;
        const [x, y] = [result[at] as number, result[at + 1] as number];
        if (ofHalf)
          w.i32[(d[half] as number) + l] = encode(x, "f16", "rn") | (encode(y, "f16", "rn") << 16);
        else {
          w.f32[(d[2 * half] as number) + l] = x;
          w.f32[(d[2 * half + 1] as number) + l] = y;
        }
      }
  });
};

function accumulator(
  w: Warp,
  c: readonly Slot[],
  row: number,
  column: number,
  half: boolean,
): number {
  const lane = (row & 7) * 4 + (column >> 1);
  const piece = row >> 3;
  if (!half) return w.f32[(c[2 * piece + (column & 1)] as number) + lane] as number;
  const word = w.i32[(c[piece] as number) + lane] as number;
  return decode.f16(column & 1 ? word >>> 16 : word & 0xffff);
}

export const matrices: Readonly<Record<string, Compile>> = {
  ldmatrix: matrixMove(true),
  stmatrix: matrixMove(false),
  mma,
};
