// Swizzles of shared memory: which 16-byte piece of a row of 32, 64 or 128 bytes lies where depends on the address.

/** Bytes of a row; 0: none. */
export type Swizzle = 0 | 32 | 64 | 128;

/**
 * Bits 4 and up of an address, as many as a row has pieces, take an exclusive or with the bits from 7 up: a pattern
 * that repeats after 8 rows of 128 bytes (PTX ISA 9.0, "Swizzling modes" of tensors). It is its own inverse.
 */
export const swizzleAddress = (address: number, rows: Swizzle): number =>
  rows === 0 ? address : address ^ (((address >> 7) & (rows / 16 - 1)) << 4);
