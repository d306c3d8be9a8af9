// Tensor maps: the layout of a tensor in global memory, and the box of it that one copy moves. On a GPU their 128 bytes
// are opaque; the layout here is described below. A kernel that makes a map itself begins with zeros and fills it in by
// `tensormap.replace`.
import { KernelError } from "../../machine/errors.ts";
import type { Segment } from "../../machine/memory.ts";
import type { Step } from "../../machine/warp.ts";
import { type Locate, locate, memoryOperand } from "../moves.ts";
import type { Compile, Site } from "../site.ts";
import { collective } from "../warps/collectives.ts";
import type { Swizzle } from "./swizzle.ts";

const MAP_BYTES = 128;
const MAX_DIMENSIONS = 5;

/** In the order of PTX's numbers for them (PTX ISA 9.0, `tensormap.replace`), with the bytes of an element. */
const elements = [
  ["u8", 1],
  ["u16", 2],
  ["u32", 4],
  ["s32", 4],
  ["u64", 8],
  ["s64", 8],
  ["f16", 2],
  ["f32", 4],
  ["f32.ftz", 4],
  ["f64", 8],
  ["bf16", 2],
  ["tf32", 4],
  ["tf32.ftz", 4],
] as const;
type TensorElement = (typeof elements)[number][0];
const swizzles: readonly Swizzle[] = [0, 32, 64, 128];

/** A tensor. Its first dimension is the innermost. Elements outside are read as 0. */
export interface TensorMap {
  /** The address of the first element. */
  readonly address: number;
  readonly element: TensorElement;
  /** Elements along each dimension. There are at most 5 dimensions. */
  readonly sizes: readonly number[];
  /** Bytes from one element to the next along each dimension except the first. */
  readonly strides: readonly number[];
  /** Elements that a copy spans along each dimension. */
  readonly box: readonly number[];
  /** Along each dimension a copy takes one of this many elements; 1 if absent, and always along the first dimension. */
  readonly steps?: readonly number[];
  readonly swizzle?: Swizzle;
}

/**
 * Offsets in the 128 bytes. The address and each stride take 8 bytes, each size and side of the box 4, all others 1.
 */
const at = {
  address: 0,
  sizes: 8,
  box: 28,
  steps: 48,
  rank: 53,
  element: 54,
  interleave: 55,
  swizzle: 56,
  outside: 57,
  strides: 64,
} as const;

/** The bytes of a `.tensormap`, or of a parameter that holds one. */
export function encodeTensorMap(map: TensorMap): Uint8Array {
  const view = new DataView(new ArrayBuffer(MAP_BYTES));
  view.setBigUint64(at.address, BigInt(map.address), true);
  map.sizes.forEach((size, i) => {
    view.setUint32(at.sizes + 4 * i, size, true);
    view.setUint32(at.box + 4 * i, map.box[i] ?? 1, true);
    view.setUint8(at.steps + i, map.steps?.[i] ?? 1);
    if (i > 0) view.setBigUint64(at.strides + 8 * (i - 1), BigInt(map.strides[i - 1] ?? 0), true);
  });
  view.setUint8(at.rank, map.sizes.length - 1);
  view.setUint8(
    at.element,
    elements.findIndex(([name]) => name === map.element),
  );
  view.setUint8(at.swizzle, swizzles.indexOf(map.swizzle ?? 0));
  return new Uint8Array(view.buffer);
}

/** A map with all fields that a copy needs. */
export type ReadMap = Required<TensorMap> & { readonly bytes: number };

const wrong = (lane: number, why: string) =>
  new KernelError("PTX_BAD_TENSOR", `its tensor map ${why}`, lane);

/** Reads the map at an offset. Fails if a copy engine would refuse the map. */
export function readMap(segment: Segment, start: number, lane: number): ReadMap {
  const view = new DataView(segment.u8.buffer, segment.u8.byteOffset + start, MAP_BYTES);
  const rank = view.getUint8(at.rank) + 1;
  const known = elements[view.getUint8(at.element)];
  const swizzle = swizzles[view.getUint8(at.swizzle)];
  if (rank > MAX_DIMENSIONS || known === undefined || swizzle === undefined)
    throw wrong(lane, "has values that are not emulated");
  if (view.getUint8(at.interleave) !== 0) throw wrong(lane, "is interleaved: not emulated");
  if (view.getUint8(at.outside) !== 0)
    throw wrong(lane, "has NaN outside of the tensor: not emulated");
  const [element, bytes] = known;
  const each = <T>(read: (i: number) => T) => Array.from({ length: rank }, (_, i) => read(i));
  const map = {
    address: Number(view.getBigUint64(at.address, true)),
    element,
    bytes,
    sizes: each((i) => view.getUint32(at.sizes + 4 * i, true)),
    strides: each((i) => Number(view.getBigUint64(at.strides + 8 * i, true))).slice(0, rank - 1),
    box: each((i) => view.getUint32(at.box + 4 * i, true)),
    steps: each((i) => (i === 0 ? 1 : view.getUint8(at.steps + i))),
    swizzle,
  };
  if (map.address % 16 !== 0) throw wrong(lane, "has an address that is no multiple of 16");
  if (map.strides.some((stride) => stride % 16 !== 0))
    throw wrong(lane, `has strides of ${map.strides.join(", ")} bytes, not all multiples of 16`);
  if (map.box.some((side) => side < 1 || side > 256))
    throw wrong(lane, `has a box of ${map.box.join(" x ")}; sides are 1 to 256`);
  if (map.steps.some((step) => step < 1 || step > 8))
    throw wrong(lane, `has steps of ${map.steps.join(", ")}; they are 1 to 8`);
  const row = (map.box[0] as number) * bytes;
  if (row % 16 !== 0) throw wrong(lane, `has rows of ${row} bytes, no multiple of 16`);
  if (swizzle !== 0 && row !== swizzle)
    throw wrong(lane, `has rows of ${row} bytes with a swizzle of ${swizzle}: not emulated`);
  return map;
}

/** The place of a map of 128 bytes, which begins at a multiple of 64. */
export function mapAddress(site: Site, index: number, space = ""): Locate {
  const address = site.address(memoryOperand(site, index), space);
  const first = locate(address, 64, "a tensor map's access");
  const second = locate({ ...address, offset: address.offset + 64 }, 64, "a tensor map's access");
  return (w, l) => {
    second(w, l);
    return first(w, l);
  };
}

type Field = keyof typeof at;

/** The fields of a dimension by PTX's names, with the bytes of each. */
const ofDimension: Readonly<Record<string, readonly [Field, 1 | 4 | 8]>> = {
  global_dim: ["sizes", 4],
  box_dim: ["box", 4],
  element_stride: ["steps", 1],
  global_stride: ["strides", 8],
};
const single: Readonly<Record<string, readonly [Field, 1 | 8]>> = {
  global_address: ["address", 8],
  rank: ["rank", 1],
  elemtype: ["element", 1],
  interleave_layout: ["interleave", 1],
  swizzle_mode: ["swizzle", 1],
  fill_mode: ["outside", 1],
};

/** `tensormap.replace.tile.FIELD.SPACE.b1024.TYPE [map], (dimension,) value;` */
function replace(site: Site): Step {
  const [, , name = "", space = ""] = site.instruction.operation.modifiers;
  const dimensional = ofDimension[name];
  const [field, bytes] = dimensional ?? single[name] ?? site.fail("this field");
  if (!site.has("tile")) return site.fail("this mode");
  const find = mapAddress(site, 0, space.startsWith("shared") ? "shared" : space);
  const dimension = dimensional === undefined ? undefined : site.read(site.operand(1), "u32");
  const value = site.read(
    site.operand(dimensional === undefined ? 1 : 2),
    bytes === 8 ? "b64" : "b32",
  );
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const index = dimension === undefined ? 0 : (w.u32[dimension + l] as number);
      if (index >= MAX_DIMENSIONS) throw wrong(l, `has no dimension ${index}`);
      const start = find(w, l) + at[field] + index * bytes;
      const { u8 } = w.segment;
      const words = bytes === 8 ? 2 : 1;
      for (let i = 0; i < bytes; i++)
        u8[start + i] = (w.i32[value + words * l + (i >> 2)] as number) >>> (8 * (i & 3));
    }
  };
}

const tensormap: Compile = (site) => {
  const [what] = site.instruction.operation.modifiers;
  if (what === "replace") return replace(site);
  if (what !== "cp_fenceproxy") return site.fail("this operation on a tensor map");
  const to = mapAddress(site, 0, "global");
  const from = mapAddress(site, 1, "shared");
  return collective(undefined, (w, lanes) => {
    const lane = lanes[0] as number;
    const source = from(w, lane);
    const map = w.segment.u8.slice(source, source + MAP_BYTES);
    const start = to(w, lane);
    w.segment.u8.set(map, start);
  });
};

export const tensorMaps: Readonly<Record<string, Compile>> = { tensormap };
