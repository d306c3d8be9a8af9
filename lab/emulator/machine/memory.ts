// Device memory: a heap with allocations. Addresses are numbers below 2^53. The upper word of an address tells its
// state space, so that resolving a generic address takes one comparison.
import { outOfBounds } from "./errors.ts";

/** The upper words of generic addresses, by state space. Addresses near the null pointer are in no space. */
export const SHARED_WINDOW = 1;
export const LOCAL_WINDOW = 2;
export const PARAM_WINDOW = 3;
export const FUNCTION_WINDOW = 5;
export const HEAP_WINDOW = 16;

export const WORD = 2 ** 32;
const HEAP_BASE = HEAP_WINDOW * WORD;
/**
 * The alignment of cudaMalloc. At least as many bytes behind each allocation stay unused, so that overruns are noticed.
 */
const ALIGNMENT = 256;
const FIRST_HEAP_BYTES = 1 << 16;

/** Bytes, and a view for each kind of access. */
export class Segment {
  u8: Uint8Array;
  i8: Int8Array;
  u16: Uint16Array;
  i16: Int16Array;
  i32: Int32Array;
  f32: Float32Array;
  f64: Float64Array;
  u64: BigUint64Array;

  constructor(buffer: ArrayBuffer) {
    this.u8 = new Uint8Array(buffer);
    this.i8 = new Int8Array(buffer);
    this.u16 = new Uint16Array(buffer);
    this.i16 = new Int16Array(buffer);
    this.i32 = new Int32Array(buffer);
    this.f32 = new Float32Array(buffer);
    this.f64 = new Float64Array(buffer);
    this.u64 = new BigUint64Array(buffer);
  }
}

/** A multiple of 8 bytes, so that every view fits. */
export const segmentOf = (bytes: number) => new Segment(new ArrayBuffer(Math.ceil(bytes / 8) * 8));

interface Allocation {
  readonly start: number;
  readonly end: number;
}

/** The image of a texture object: `texels` are f32, in rows of `width`. Coordinates outside are clamped. */
export interface Texture {
  readonly width: number;
  readonly height: number;
  readonly texels: Float32Array;
}

export class DeviceMemory {
  heap: Segment = segmentOf(FIRST_HEAP_BYTES);
  readonly textures = new Map<number, Texture>();
  /** The allocation that was accessed last, as offsets into the heap. */
  start = 0;
  end = 0;
  #used = 0;
  readonly #allocations: Allocation[] = [];

  /** The address of `bytes` new bytes, all 0. */
  allocate(bytes: number): number {
    const start = this.#used;
    this.#allocations.push({ start, end: start + bytes });
    this.#used = Math.ceil((start + bytes + ALIGNMENT) / ALIGNMENT) * ALIGNMENT;
    let size = this.heap.u8.length;
    if (this.#used > size) {
      while (size < this.#used) size *= 2;
      const grown = segmentOf(size);
      grown.u8.set(this.heap.u8);
      this.heap = grown;
    }
    return HEAP_BASE + start;
  }

  /** The address of a copy of `data`. */
  upload(data: ArrayBufferView): number {
    const address = this.allocate(data.byteLength);
    this.write(address, data);
    return address;
  }

  write(address: number, data: ArrayBufferView): void {
    const offset = this.#offset(address, data.byteLength);
    this.heap.u8.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), offset);
  }

  /** A copy of `bytes` bytes. */
  read(address: number, bytes: number): Uint8Array<ArrayBuffer> {
    const offset = this.#offset(address, bytes);
    return this.heap.u8.slice(offset, offset + bytes);
  }

  /** The handle of a texture object. */
  addTexture(texture: Texture): number {
    const handle = this.textures.size + 1;
    this.textures.set(handle, texture);
    return handle;
  }

  /** The offset into the heap. Throws if no allocation holds all of [address, address + size). */
  #offset(address: number, size: number): number {
    const offset = address - HEAP_BASE;
    if (offset < this.start || offset + size > this.end) this.find(offset, size, "an access", 0);
    return offset;
  }

  /** Sets `start` and `end` to the allocation that holds [offset, offset + size). */
  find(offset: number, size: number, what: string, lane: number): void {
    const all = this.#allocations;
    let low = 0;
    let high = all.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((all[middle]?.start ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const found = all[low];
    if (found === undefined || offset < found.start || offset + size > found.end)
      throw outOfBounds(what, `0x${(offset + HEAP_BASE).toString(16)}`, size, lane);
    this.start = found.start;
    this.end = found.end;
  }
}
