// Boxes of tensors that the copy engine moves, each a kernel of one copy by a map from the host. What they leave
// follows from going over the box element by element.
import { fill, type HopperCase, type HostMap, turn } from "./hopper-case.ts";

interface Box extends Omit<HostMap, "buffer" | "strides" | "steps" | "swizzle"> {
  readonly corner: readonly number[];
  /** Bytes that rows (and planes, ...) are longer than their elements. */
  readonly gaps?: readonly number[];
  readonly steps?: readonly number[];
  readonly swizzle?: HostMap["swizzle"];
}

const bytesOf = { u8: 1, u16: 2, s32: 4, s64: 8 } as const;
const THREADS = 32;

const pattern = (bytes: number, seed: number) =>
  Uint8Array.from(
    { length: bytes },
    (_, i) => (Math.imul(i + 1, 0x9e3779b1 + 2 * seed) >>> 15) | 1,
  );

/** Where each element of the box lies in shared memory and in the tensor; undefined: it is outside. */
function* elements(
  box: Box,
  map: HostMap,
): Generator<[inShared: number, inTensor: number | undefined]> {
  const bytes = bytesOf[box.element];
  const stepAlong = (d: number) => (d === 0 ? 1 : (map.steps[d] ?? 1));
  const sides = box.box.map((side, d) => Math.ceil(side / stepAlong(d)));
  const count = sides.reduce((all, side) => all * side, 1);
  const row = (sides[0] ?? 0) * bytes;
  for (let i = 0; i < count; i++) {
    let rest = i;
    let at: number | undefined = 0;
    for (let d = 0; d < sides.length; d++) {
      const index = (box.corner[d] ?? 0) + (rest % (sides[d] ?? 1)) * stepAlong(d);
      rest = Math.floor(rest / (sides[d] ?? 1));
      if (index < 0 || index >= (box.sizes[d] ?? 0)) at = undefined;
      else if (at !== undefined) at += index * (d === 0 ? bytes : (map.strides[d - 1] ?? 0));
    }
    const line = Math.floor((i * bytes) / row);
    const column = (i * bytes) % row;
    const piece = Math.floor(column / 16);
    const there = map.swizzle === 0 ? piece : turn(line, piece, map.swizzle);
    yield [line * row + there * 16 + (column % 16), at];
  }
}

function mapOf(box: Box): HostMap {
  let stride = bytesOf[box.element];
  const strides = box.sizes.slice(0, -1).map((size, d) => {
    stride = stride * size + (box.gaps?.[d] ?? 0);
    return stride;
  });
  const { element, sizes } = box;
  const steps = box.steps ?? sizes.map(() => 1);
  return { buffer: 0, element, sizes, strides, box: box.box, steps, swizzle: box.swizzle ?? 0 };
}

const tensorBytes = ({ sizes, strides, element }: HostMap) =>
  (sizes.at(-1) ?? 1) * (strides.at(-1) ?? (sizes[0] ?? 1) * bytesOf[element]);

/** Bytes of the box in shared memory. */
const boxBytes = (box: Box, map: HostMap) => bytesOf[box.element] * [...elements(box, map)].length;

const head = (bytes: number, second: string) => `.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 first, .param .u64 second, .param .align 64 .b8 map[128]) {
.shared .align 1024 .b8 tile[${bytes}];
.shared .align 8 .b64 bar;
.reg .b32 %t, %i, %at, %word, %tile, %c<5>; .reg .pred %p, %more, %leads, %done;
.reg .b64 %to, %from, %here, %map;
ld.param.u64 %${second}, [second];
mov.b64 %map, map; cvta.param.u64 %map, %map;
mov.u32 %t, %tid.x; mov.u32 %tile, tile;
setp.eq.u32 %leads, %t, 0;
shl.b32 %i, %t, 2;
`;

const corners = ({ corner }: Box) => corner.map((at, d) => `mov.b32 %c${d}, ${at};`).join(" ");
const vector = ({ corner }: Box) => `{${corner.map((_, d) => `%c${d}`).join(", ")}}`;
const said = (box: Box) =>
  `${box.sizes.length}D, ${box.box.join(" x ")} ${box.element}${box.swizzle ? `, ${box.swizzle} bytes` : ""}${box.steps ? `, steps ${box.steps.join(", ")}` : ""} at ${box.corner.join(", ")}`;

/** The box as it comes to lie in shared memory, which the kernel writes down. */
function load(box: Box): HopperCase {
  const map = mapOf(box);
  const tensor = pattern(tensorBytes(map), 1);
  const bytes = boxBytes(box, map);
  const each = bytesOf[box.element];
  const expected = new Uint8Array(bytes);
  for (const [to, from] of elements(box, map))
    if (from !== undefined) expected.set(tensor.subarray(from, from + each), to);
  const ptx = `${head(bytes, "to")}${corners(box)}
@!%leads bra Filled;
mbarrier.init.shared::cta.b64 [bar], 1;
fence.proxy.async.shared::cta;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], ${bytes};
cp.async.bulk.tensor.${box.sizes.length}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%map, ${vector(box)}], [bar];
Filled:
bar.sync 0;
Wait:
mbarrier.try_wait.parity.shared::cta.b64 %done, [bar], 0;
@!%done bra Wait;
Write:
setp.ge.u32 %more, %i, ${bytes};
@%more bra Written;
add.u32 %at, %tile, %i; ld.shared.b32 %word, [%at];
cvt.u64.u32 %here, %i; add.u64 %here, %here, %to; st.global.b32 [%here], %word;
add.u32 %i, %i, ${4 * THREADS};
bra Write;
Written:
ret;
}
`;
  const buffers = [tensor, new Uint8Array(bytes)];
  return { name: `loads ${said(box)}`, ptx, threads: THREADS, buffers, maps: [map], expected };
}

const updates = {
  "": (_old: number, value: number) => value,
  add: (old: number, value: number) => (old + value) | 0,
  max: Math.max,
  xor: (old: number, value: number) => old ^ value,
} as const;

/** The tensor after a box of shared memory was stored; `how` is the reduction, "" is a plain copy. */
function store(box: Box, how: keyof typeof updates = ""): HopperCase {
  const map = { ...mapOf(box), buffer: 1 };
  const bytes = boxBytes(box, map);
  const source = pattern(bytes, 2);
  const tensor = pattern(tensorBytes(map), 3);
  const each = bytesOf[box.element];
  const expected = tensor.slice();
  const [values, old] = [new DataView(source.buffer), new DataView(expected.buffer)];
  for (const [from, to] of elements(box, map)) {
    if (to === undefined) continue;
    if (how === "") expected.set(source.subarray(from, from + each), to);
    else old.setInt32(to, updates[how](old.getInt32(to, true), values.getInt32(from, true)), true);
  }
  const copy = `async.bulk.tensor.${box.sizes.length}d.global.shared::cta`;
  const ptx = `${head(bytes, "to").replace("%to, [second]", "%from, [first]")}${corners(box)}
${fill(bytes, THREADS)}
@!%leads ret;
cp.${how === "" ? copy : `reduce.${copy}.${how}`}.tile.bulk_group [%map, ${vector(box)}], [tile];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
ret;
}
`;
  const what = how === "" ? "stores" : `reduces by ${how}`;
  const buffers = [source, tensor];
  return { name: `${what} ${said(box)}`, ptx, threads: THREADS, buffers, maps: [map], expected };
}

const plane = { element: "u16", sizes: [72, 20], box: [64, 16], swizzle: 128 } as const;

const all: readonly Box[] = [
  { element: "s32", sizes: [100], box: [64], corner: [60] },
  { element: "u8", sizes: [256, 5], box: [128, 4], corner: [-32, -1] },
  { ...plane, corner: [0, 0] },
  { ...plane, corner: [24, 10] },
  { ...plane, corner: [-8, -3], gaps: [16] },
  { ...plane, box: [32, 16], swizzle: 64, corner: [8, 2] },
  { ...plane, box: [16, 16], swizzle: 32, corner: [64, 18] },
  { ...plane, corner: [200, 0] },
  { element: "s64", sizes: [6, 5, 4], box: [4, 3, 2], corner: [4, -1, 3], gaps: [16, 32] },
  { element: "s32", sizes: [12, 9], box: [8, 6], steps: [1, 3], corner: [8, 1] },
  // Along the first dimension there is no step: what a map says of one there goes unnoticed.
  { element: "s32", sizes: [12, 9], box: [8, 7], steps: [2, 2], corner: [-4, 4] },
  { element: "s32", sizes: [8, 3, 2, 4], box: [8, 2, 2, 2], corner: [4, 1, 0, 3] },
  { element: "s32", sizes: [8, 3, 2, 2, 3], box: [4, 2, 1, 2, 2], corner: [-4, 2, 1, 0, -1] },
];

export const boxes: readonly HopperCase[] = [
  ...all.map(load),
  ...all
    .filter(({ steps, corner }) => steps === undefined && corner.every((at) => at >= 0))
    .map((box) => store(box)),
  store({ ...plane, corner: [24, 10], gaps: [16] }),
  store({ element: "s64", sizes: [6, 5, 4], box: [4, 3, 2], corner: [4, 3, 3], gaps: [16, 32] }),
  store({ element: "s32", sizes: [8, 3, 2, 2, 3], box: [4, 2, 1, 2, 2], corner: [4, 2, 1, 0, 2] }),
  ...(["add", "max", "xor"] as const).map((how) =>
    store({ element: "s32", sizes: [40, 9], box: [32, 8], swizzle: 128, corner: [20, 4] }, how),
  ),
];
