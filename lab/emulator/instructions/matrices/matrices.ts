// Matrix fragments: ldmatrix, stmatrix and mma.sync. Sums are computed in double precision and rounded once to the
// accumulator's type. The hardware accumulates in another order and width, so its last bits differ.
import { KernelError } from "../../machine/errors.ts";
import { locate, memoryOperand, pieces, spaceOf } from "../moves.ts";
import type { Compile, Meaning, Slot } from "../site.ts";
import { collective } from "../warps/collectives.ts";
import { fragmentOfA, fragmentOfB, sumsOf } from "./fragments.ts";
import { matrixElements } from "./matrix-elements.ts";

/** Rows of a product of mma.sync. */
const ROWS = 16;
const COLUMNS = 8;

export function whole(n: number, lanes: Uint8Array): void {
  if (n !== 32)
    throw new KernelError("PTX_BAD_MASK", "not all lanes of the warp take part", lanes[0]);
}

/** Eight rows of 16 bytes each. Lanes 8 i to 8 i + 7 give the addresses for matrix i. */
const matrixMove =
  (loads: boolean): Compile =>
  (site) => {
    if (!site.has("m8n8") || site.has("b8")) return site.fail("this shape");
    const registers = pieces(site.operand(loads ? 0 : 1));
    const slots = registers.map((one) => (loads ? site.write(one, "b32") : site.read(one, "b32")));
    const find = locate(
      site.address(memoryOperand(site, loads ? 1 : 0), spaceOf(site)),
      16,
      "a matrix row",
    );
    const transposed = site.has("trans");
    return collective(undefined, (w, lanes, n) => {
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

const mma: Compile = (site): Meaning => {
  const { modifiers } = site.instruction.operation;
  const shape = modifiers.find((one) => /^m\d+n\d+k\d+$/.test(one)) ?? "";
  const depth = Number(/^m16n8k(\d+)$/.exec(shape)?.[1] ?? 0);
  const [dType = "", aType = "", bType = "", cType] = modifiers.slice(-4);
  const a = matrixElements[aType] ?? site.fail(`.${aType}`);
  const b = matrixElements[bType] ?? site.fail(`.${bType}`);
  const sums = sumsOf(dType, aType, site.has("satfinite"));
  const bytes = depth * a.bytes;
  if ((bytes !== 16 && bytes !== 32) || a.bytes !== b.bytes || dType !== cType)
    return site.fail("this shape or type");
  if (sums === undefined || !site.has("row") || !site.has("col"))
    return site.fail("this shape or type");
  const d = pieces(site.operand(0)).map((one) => site.write(one, "b32"));
  const [left, right, c] = [1, 2, 3].map((i) =>
    pieces(site.operand(i)).map((one) => site.read(one, "b32")),
  ) as [Slot[], Slot[], Slot[]];
  const atA = fragmentOfA(a);
  const atB = fragmentOfB(b);
  const result = new Float64Array(ROWS * COLUMNS);
  return collective(undefined, (w, lanes, n) => {
    whole(n, lanes);
    for (let row = 0; row < ROWS; row++)
      for (let column = 0; column < COLUMNS; column++) {
        let sum = sums.read(w, c, row, column);
        for (let k = 0; k < depth; k++) sum += atA(w, left, row, k) * atB(w, right, column, k);
        result[row * COLUMNS + column] = sum;
      }
    for (let row = 0; row < ROWS; row++)
      for (let column = 0; column < COLUMNS; column++)
        sums.write(w, d, row, column, result[row * COLUMNS + column] as number);
  });
};

export const matrices: Readonly<Record<string, Compile>> = {
  ldmatrix: matrixMove(true),
  stmatrix: matrixMove(false),
  mma,
};
