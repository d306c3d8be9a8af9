// The types of PTX as the emulator holds them. For each lane, a register of up to 32 bits takes one word (16-bit values
// zero-extended, predicates as 0 and 1), one of 64 bits two words, one of 128 bits four.

const bits: Readonly<Record<string, number>> = {
  pred: 1,
  s8: 8,
  u8: 8,
  b8: 8,
  s16: 16,
  u16: 16,
  b16: 16,
  f16: 16,
  bf16: 16,
  s32: 32,
  u32: 32,
  b32: 32,
  f32: 32,
  f16x2: 32,
  bf16x2: 32,
  tf32: 32,
  s16x2: 32,
  u16x2: 32,
  s64: 64,
  u64: 64,
  b64: 64,
  f64: 64,
  b128: 128,
};

export const isType = (text: string): boolean => text in bits;

/** Bits of one value; 0 if this is no type. */
export const bitsOf = (type: string): number => bits[type] ?? 0;
export const bytesOf = (type: string): number => bitsOf(type) / 8;
/** Words for each lane. */
export const wordsOf = (type: string): number => Math.max(1, bitsOf(type) / 32);
export const isFloat = (type: string): boolean => /^b?f|^tf/.test(type);
export const isSigned = (type: string): boolean => type.startsWith("s");

const scratch = new DataView(new ArrayBuffer(8));

/** Integers as PTX writes them: "-1", "0x1F", "0b11", "017", "7U". undefined for other texts. */
export function parseInteger(text: string): bigint | undefined {
  const match = /^(-?)(0[xX][\da-fA-F]+|0[bB][01]+|\d+)U?$/.exec(text);
  if (match === null) return undefined;
  const digits = match[2] ?? "";
  const octal = /^0[0-7]+$/.test(digits);
  const value = BigInt(octal ? `0o${digits.slice(1)}` : digits);
  return match[1] === "-" ? -value : value;
}

/** The bits of an immediate in a register of the type; undefined if it is not a number. */
export function immediateBits(text: string, type: string): bigint | undefined {
  const hex = /^(-?)0([fFdD])([\da-fA-F]+)$/.exec(text);
  const whole = hex === null ? parseInteger(text) : undefined;
  if (whole !== undefined && !isFloat(type))
    return BigInt.asUintN(Math.max(bitsOf(type), 1), whole);
  if (hex !== null && !isFloat(type)) return BigInt(`0x${hex[3]}`);
  let value: number;
  if (hex !== null) {
    const digits = hex[3] ?? "";
    scratch.setBigUint64(0, BigInt(`0x${digits}`));
    const float = hex[2]?.toLowerCase() === "f";
    if (float && type === "f32" && hex[1] === "") return BigInt(`0x${digits}`);
    value = float ? scratch.getFloat32(4) : scratch.getFloat64(0);
    if (hex[1] === "-") value = -value;
  } else value = whole === undefined ? Number(text) : Number(whole);
  if (Number.isNaN(value) && hex === null) return undefined;
  if (type === "f64") {
    scratch.setFloat64(0, value);
    return scratch.getBigUint64(0);
  }
  scratch.setFloat32(0, value);
  return type === "f32" ? BigInt(scratch.getUint32(0)) : undefined;
}
