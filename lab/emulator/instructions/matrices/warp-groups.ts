// wgmma: matrix products by four warps together, of which each computes 16 of 64 rows. Sums are computed in double
// precision and rounded once, as for mma.sync. They are computed at once. Programs may use the registers before they
// wait, because ptxas inserts the wait.
import { KernelError } from "../../machine/errors.ts";
import type { Warp } from "../../machine/warp.ts";
import { pieces } from "../moves.ts";
import type { Compile, Meaning, Site } from "../site.ts";
import { collective } from "../warps/collectives.ts";
import { fragmentOfA, sumsOf } from "./fragments.ts";
import { whole } from "./matrices.ts";
import { type Element, matrixElements } from "./matrix-elements.ts";
import { DEPTH_BYTES, matrixAt, readMatrix } from "./shared-matrices.ts";

/** Warps of a group. */
const GROUP = 4;
/** Rows that one warp computes. */
const ROWS = 16;

const wgmma: Compile = (site) => {
  const [what] = site.instruction.operation.modifiers;
  switch (what) {
    case "fence":
    case "commit_group":
    case "wait_group":
      return inGroup(() => undefined);
    case "mma_async":
      return product(site);
    default:
      return site.fail("this operation of a warp group");
  }
};

/** An action of all lanes of each warp of a whole group. */
const inGroup = (act: (w: Warp) => void): Meaning =>
  collective(undefined, (w, lanes, n) => {
    whole(n, lanes);
    if ((w.index | (GROUP - 1)) >= w.block.warps.length)
      throw new KernelError("PTX_BAD_MASK", "the warp is in no whole group of four", lanes[0]);
    act(w);
  });

/** Reads a warp's rows of A, or all columns of B, one after the other. */
type Source = (w: Warp, into: Float64Array) => void;

/** `D, A, B, adds(, sign of A, sign of B(, order of A)(, order of B))`. If A is in registers, it has no order. */
function product(site: Site): Meaning {
  const { modifiers } = site.instruction.operation;
  const at = modifiers.findIndex((one) => one.startsWith("m64n"));
  const [shape = "", dType = "", aType = "", bType = ""] = modifiers.slice(at);
  if (at !== 3) return site.fail("a sparse product");
  const columns = Number(/^m64n(\d+)k\d+$/.exec(shape)?.[1] ?? 0);
  const a = matrixElements[aType] ?? site.fail(`.${aType}`);
  const b = matrixElements[bType] ?? site.fail(`.${bType}`);
  const depth = DEPTH_BYTES / a.bytes;
  const saturates = site.has("satfinite");
  const sums = sumsOf(dType, aType, saturates) ?? site.fail(`sums of type .${dType}`);
  if (!shape.endsWith(`k${depth}`) || a.bytes !== b.bytes || columns % 8 !== 0 || columns > 256)
    return site.fail("this shape");
  const d = pieces(site.operand(0)).map((one) => site.write(one, "b32"));
  if (d.length !== sums.registers(columns)) return site.fail(`${d.length} registers for the sums`);

  const inRegisters = site.operand(1).kind === "vector";
  const [signA = 1, signB = 1, ...orders] = site.operands.slice(4).map((one) => {
    const value = one.kind === "immediate" ? Number(one.text) : Number.NaN;
    return Number.isInteger(value) ? value : site.fail("a sign or an order that is no number");
  });
  const sign = signA * signB;
  const left = inRegisters
    ? fromRegisters(site, a, depth)
    : fromShared(site, 1, a, orders[0] === 1, ROWS, (w) => ROWS * (w.index % GROUP));
  const right = fromShared(site, 2, b, orders.at(-1) === 1, columns, () => 0);
  const adds = site.read(site.operand(3), "pred");

  const rows = new Float64Array(ROWS * depth);
  const others = new Float64Array(columns * depth);
  return inGroup((w) => {
    const onTop = w.i32[adds] !== 0;
    left(w, rows);
    right(w, others);
    for (let row = 0; row < ROWS; row++)
      for (let column = 0; column < columns; column++) {
        let sum = 0;
        for (let k = 0; k < depth; k++)
          sum += (rows[row * depth + k] as number) * (others[column * depth + k] as number);
        const before = onTop ? sums.read(w, d, row, column) : 0;
        sums.write(w, d, row, column, before + sign * sum);
      }
  });
}

/** Four registers hold the rows of a warp. */
function fromRegisters(site: Site, element: Element, depth: number): Source {
  const slots = pieces(site.operand(1)).map((one) => site.read(one, "b32"));
  if (slots.length !== 4) return site.fail(`${slots.length} registers for A`);
  const read = fragmentOfA(element);
  return (w, into) => {
    for (let row = 0; row < ROWS; row++)
      for (let k = 0; k < depth; k++) into[row * depth + k] = read(w, slots, row, k);
  };
}

/** `count` rows of A or columns of B behind a descriptor. */
function fromShared(
  site: Site,
  index: number,
  element: Element,
  transposed: boolean,
  count: number,
  first: (w: Warp) => number,
): Source {
  const slot = site.read(site.operand(index), "b64");
  if (transposed && element.bytes !== 2) return site.fail("this order of such elements");
  return (w, into) => {
    const [low, high] = [w.i32[slot] as number, w.i32[slot + 1] as number];
    readMatrix(w.block, matrixAt(low, high, element, transposed), first(w), count, into);
  };
}

export const warpGroups: Readonly<Record<string, Compile>> = { wgmma };
