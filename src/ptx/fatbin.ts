// Only the PTX in a fat binary is read. The container is not documented; this was found by
// comparing what nvcc 13.0 makes in each compression mode: a header of 16 bytes (magic, version,
// its own size, size of the rest), then entries. An entry's header has kind, its own size, sizes of
// the payload and of the compressed text, architecture, flags and size of the text.
import { decompress } from "fzstd";

const MAGIC = 0xba55ed50;
const HEADER_BYTES = 16;
const ENTRY_BYTES = 64;
const KIND_PTX = 1;
const FLAG_LZ4 = 0x2000;
const FLAG_ZSTD = 0x8000;
/** A damaged header could say any size, and a few bytes can be unpacked to many. */
export const LONGEST_TEXT = 2 ** 26;

export interface FatPtx {
  readonly architecture: number;
  /** undefined if the text is damaged or longer than LONGEST_TEXT. */
  text(): string | undefined;
}

export const isFatBinary = (image: Uint8Array): boolean =>
  image.length >= HEADER_BYTES && viewOf(image).getUint32(0, true) === MAGIC;

/** It is 0 for anything but a fat binary. */
export const fatBinaryBytes = (image: Uint8Array): number =>
  isFatBinary(image) ? headerBytes(viewOf(image)) + Number(viewOf(image).getBigUint64(8, true)) : 0;

/** An entry that is cut off is left out: the driver judges the image, and PTX is optional here. */
export function ptxOf(image: Uint8Array): readonly FatPtx[] {
  const whole = Math.min(image.length, fatBinaryBytes(image));
  const view = viewOf(image);
  const found: FatPtx[] = [];
  let at = whole === 0 ? 0 : headerBytes(view);
  while (at + ENTRY_BYTES <= whole) {
    const entry = at;
    const header = view.getUint32(at + 4, true);
    const payload = Number(view.getBigUint64(at + 8, true));
    if (header < ENTRY_BYTES || at + header + payload > whole) break;
    if (view.getUint16(at, true) === KIND_PTX)
      found.push({
        architecture: view.getUint32(at + 28, true),
        text: () => textOf(view, image, entry, header, payload),
      });
    at += header + payload;
  }
  return found;
}

function textOf(view: DataView, image: Uint8Array, at: number, header: number, payload: number) {
  const flags = view.getUint32(at + 40, true);
  const compressed = Math.min(view.getUint32(at + 16, true), payload);
  const packed = (flags & (FLAG_ZSTD | FLAG_LZ4)) !== 0;
  const bytes = packed ? Number(view.getBigUint64(at + 56, true)) : payload;
  const start = at + header;
  if (bytes > LONGEST_TEXT) return undefined;
  try {
    if (flags & FLAG_ZSTD)
      return decode(decompress(image.subarray(start, start + compressed), new Uint8Array(bytes)));
    if (flags & FLAG_LZ4) return decode(lz4Block(image.subarray(start, start + compressed), bytes));
    return decode(image.subarray(start, start + payload));
  } catch {
    return undefined;
  }
}

/** Texts are filled up with zeros to a multiple of eight bytes. */
function decode(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** lz4_Block_format.md of the LZ4 project has the format. Throws a RangeError if it is damaged. */
export function lz4Block(from: Uint8Array, bytes: number): Uint8Array {
  const to = new Uint8Array(bytes);
  let read = 0;
  let written = 0;
  const next = (): number => {
    const byte = from[read++];
    if (byte === undefined) throw new RangeError("LZ4 block: cut off");
    return byte;
  };
  const lengthOf = (nibble: number): number => {
    let length = nibble;
    for (let more = nibble === 15 ? 255 : 0; more === 255; length += more) more = next();
    return length;
  };
  while (read < from.length) {
    const token = next();
    const literals = lengthOf(token >> 4);
    if (read + literals > from.length || written + literals > bytes)
      throw new RangeError("LZ4 block: literals beyond the end");
    to.set(from.subarray(read, read + literals), written);
    read += literals;
    written += literals;
    if (read === from.length) break; // the last sequence has no match
    const offset = next() | (next() << 8);
    const length = lengthOf(token & 15) + 4;
    if (offset === 0 || offset > written || written + length > bytes)
      throw new RangeError("LZ4 block: a match outside of what was written");
    // Byte by byte, because a match may overlap what it writes.
    for (let i = 0; i < length; i++, written++) to[written] = to[written - offset] ?? 0;
  }
  if (written !== bytes) throw new RangeError("LZ4 block: shorter than it says");
  return to;
}

const viewOf = (image: Uint8Array): DataView =>
  new DataView(image.buffer, image.byteOffset, image.byteLength);

const headerBytes = (view: DataView): number => view.getUint16(6, true);
