// Swizzles of shared memory: the place of a 16-byte piece in a row of 32, 64 or 128 bytes depends on the address.

/** Bytes of a row; 0: none. */
export type Swizzle = 0 | 32 | 64 | 128;

/**
 * Some bits of an address, from bit 4 up, take an exclusive or with the bits from 7 up. There are as many as a row has
 * pieces. The pattern repeats after 8 rows of 128 bytes (PTX ISA 9.0, "Swizzling modes" of tensors). The function is
 * its own inverse.
 */
export const swizzleAddress = (address: number, rows: Swizzle): number =>
  rows === 0 ? address : address ^ (((address >> 7) & (rows / 16 - 1)) << 4);
