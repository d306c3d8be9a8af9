// Cases of Hopper's instructions in the emulator.

import { DeviceMemory, encodeTensorMap, launch } from "#emulator";
import { parse } from "#ptx";

/** A case for emulator and GPU: a kernel "k" of one block, and what its last buffer holds in the end. */
export interface HopperCase {
  readonly name: string;
  readonly ptx: string;
  readonly threads: number;
  readonly buffers: readonly Uint8Array[];
  /** Tensor maps, whose parameters come behind the buffers'. */
  readonly maps: readonly HostMap[];
  readonly expected: Uint8Array;
}

/** A tensor map as a host makes it; `buffer` is the position of the tensor's. */
export interface HostMap {
  readonly buffer: number;
  readonly element: "u8" | "u16" | "s32" | "s64";
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly box: readonly number[];
  readonly steps: readonly number[];
  readonly swizzle: 0 | 32 | 64 | 128;
}

/** Rows of a swizzle take their 16-byte pieces in another order, which repeats after 8, 4 or 2 patterns. */
export const turn = (row: number, piece: number, swizzle: number): number =>
  swizzle === 128
    ? piece ^ (row % 8)
    : swizzle === 64
      ? piece ^ (Math.floor(row / 2) % 4)
      : piece ^ (Math.floor(row / 4) % 2);

/** Copies `bytes` from global %from to shared %tile, four a thread at a time from %i, for asynchronous copies to see. */
export const fill = (bytes: number, threads: number): string => `Fill:
setp.ge.u32 %more, %i, ${bytes};
@%more bra Filled;
cvt.u64.u32 %here, %i; add.u64 %here, %here, %from; ld.global.b32 %word, [%here];
add.u32 %at, %tile, %i; st.shared.b32 [%at], %word;
add.u32 %i, %i, ${4 * threads};
bra Fill;
Filled:
fence.proxy.async.shared::cta;
bar.sync 0;`;

/** The final contents of the last buffer. */
export function runCase(one: HopperCase, seed = 0): Uint8Array {
  const memory = new DeviceMemory();
  const addresses = one.buffers.map((buffer) => memory.upload(buffer));
  const maps = one.maps.map(({ buffer, ...map }) =>
    encodeTensorMap({ ...map, address: addresses[buffer] ?? 0 }),
  );
  launch(parse(one.ptx), "k", {
    grid: [1, 1, 1],
    block: [one.threads, 1, 1],
    args: [...addresses, ...maps],
    memory,
    seed,
  });
  return memory.read(addresses.at(-1) ?? 0, one.expected.length);
}
