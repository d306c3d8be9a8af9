// A launch's arguments in device memory, and what is there afterwards.

import { DeviceMemory, decode, encode, type Argument as Value } from "#emulator";
import type { Argument, Buffer, Element, Launch } from "./launches/index.ts";

type Numbers = ArrayLike<number | bigint>;

export interface Prepared {
  readonly memory: DeviceMemory;
  readonly args: readonly Value[];
  readonly buffers: readonly Held[];
  /** Scalars in order, for references. */
  readonly scalars: readonly number[];
  readonly textures: readonly Float32Array[];
}

interface Held {
  readonly buffer: Buffer;
  readonly address: number;
  readonly bytes: number;
  /** Earlier contents, as numbers. */
  readonly before: readonly number[];
}

/** FNV-1a, to give each argument of each kernel its own inputs. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (const c of text) h = Math.imul(h ^ c.charCodeAt(0), 0x01000193);
  return h >>> 0;
}

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    let t = state ^ (state >>> 15);
    t = Math.imul(t, 0x2c1b3c6d);
    return ((t ^ (t >>> 13)) >>> 0) / 2 ** 32;
  };
}

/** Numbers as the element type holds them. */
function pack(type: Element, values: readonly number[]): ArrayBufferView {
  switch (type) {
    case "u8":
      return Uint8Array.from(values);
    case "i8":
      return Int8Array.from(values);
    case "i16":
      return Int16Array.from(values);
    case "i32":
      return Int32Array.from(values);
    case "u32":
      return Uint32Array.from(values);
    case "i64":
      return BigInt64Array.from(values.map((v) => BigInt(v)));
    case "f16":
    case "bf16":
      return Uint16Array.from(values, (v) => encode(v, type, "rn"));
    case "f32":
      return Float32Array.from(values);
    case "f64":
      return Float64Array.from(values);
  }
}

/** 64-bit integers lose what a double does not hold. */
export function unpack(type: Element, bytes: Uint8Array<ArrayBuffer>): number[] {
  const { buffer } = bytes;
  const views: Record<Element, () => Numbers> = {
    u8: () => bytes,
    i8: () => new Int8Array(buffer),
    i16: () => new Int16Array(buffer),
    i32: () => new Int32Array(buffer),
    u32: () => new Uint32Array(buffer),
    i64: () => new BigInt64Array(buffer),
    f16: () => Array.from(new Uint16Array(buffer), decode.f16),
    bf16: () => Array.from(new Uint16Array(buffer), decode.bf16),
    f32: () => new Float32Array(buffer),
    f64: () => new Float64Array(buffer),
  };
  return Array.from(views[type](), Number);
}

function fill({ type, count, fill: how }: Buffer, seed: number): ArrayBufferView {
  if (how === "zero") return pack(type, new Array<number>(count).fill(0));
  const next = randomOf(seed);
  const isWhole = how.whole || !/^b?f/.test(type);
  const values = Array.from({ length: count }, () =>
    isWhole
      ? Math.floor(how.low + next() * (how.high - how.low + 1))
      : how.low + next() * (how.high - how.low),
  );
  return pack(type, values);
}

const made = new Map<string, ArrayBufferView>();

/** The same as before for the same buffer: a comparison asks for it again and again. */
function contentOf(buffer: Buffer, seed: number): ArrayBufferView {
  const key = `${seed}/${JSON.stringify(buffer)}`;
  let data = made.get(key);
  if (data === undefined) {
    data = fill(buffer, seed);
    made.set(key, data);
  }
  return data;
}

const bytesOf = (view: ArrayBufferView): Uint8Array<ArrayBuffer> =>
  new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);

export function prepare(launch: Launch): Prepared {
  const memory = new DeviceMemory();
  const buffers: Held[] = [];
  const scalars: number[] = [];
  const textures: Float32Array[] = [];
  let position = 0;
  const value = (argument: Argument): Value => {
    const seed = hash(`${launch.kernel}/${position++}`);
    switch (argument.kind) {
      case "scalar":
        scalars.push(argument.value);
        return argument.value;
      case "texture": {
        const next = randomOf(seed);
        const texels = Float32Array.from({ length: argument.width * argument.height }, next);
        textures.push(texels);
        return memory.addTexture({ width: argument.width, height: argument.height, texels });
      }
      case "buffer": {
        const data = contentOf(argument, seed);
        const address = memory.upload(data);
        buffers.push({
          buffer: argument,
          address,
          bytes: data.byteLength,
          get before() {
            return unpack(argument.type, bytesOf(data).slice());
          },
        });
        return address;
      }
      case "struct":
        return structBytes(argument.fields, value);
    }
  };
  const args = launch.args.map(value);
  return { memory, args, buffers, scalars, textures };
}

/** Fields one after the other, each aligned to its size. */
function structBytes(
  fields: readonly Argument[],
  value: (argument: Argument) => Value,
): Uint8Array {
  const view = new DataView(new ArrayBuffer(256));
  let at = 0;
  for (const field of fields) {
    const type = field.kind === "scalar" ? field.type : "address";
    const bytes = type === "f64" || type === "address" ? 8 : type === "i16" ? 2 : 4;
    at = Math.ceil(at / bytes) * bytes;
    const v = Number(value(field));
    if (type === "f64") view.setFloat64(at, v, true);
    else if (type === "address") view.setBigUint64(at, BigInt(v), true);
    else if (type === "f32") view.setFloat32(at, v, true);
    else if (type === "i16") view.setInt16(at, v, true);
    else view.setInt32(at, v, true);
    at += bytes;
  }
  return new Uint8Array(view.buffer, 0, Math.ceil(at / 8) * 8);
}

/** All buffers as they are now, in order. */
export const contents = ({ memory, buffers }: Prepared): Uint8Array<ArrayBuffer>[] =>
  buffers.map(({ address, bytes }) => memory.read(address, bytes));
