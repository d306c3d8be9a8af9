// Reads the wire format of protocol buffers as far as ONNX models need it: numbers and byte strings by field number.
import { badModel } from "../problem/errors.ts";

export interface Field {
  readonly number: number;
  /** The value of a varint, read without a sign; 0 for other types. */
  readonly value: number;
  /** The content of a byte string; empty for other types. */
  readonly bytes: Uint8Array;
}

const NOTHING = new Uint8Array();

/** All fields of a message, in order. Throws a UserError that names `file` if the bytes are not a message. */
export function fieldsOf(bytes: Uint8Array, file: string): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 63) throw badModel(file, "it is cut short or no ONNX.");
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Uint8Array => {
    at += length;
    if (at > bytes.length) throw badModel(file, "it is cut short or no ONNX.");
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const key = varint();
    const number = Math.floor(key / 8);
    switch (key % 8) {
      case 0:
        fields.push({ number, value: varint(), bytes: NOTHING });
        break;
      case 1:
        take(8);
        break;
      case 2:
        fields.push({ number, value: 0, bytes: take(varint()) });
        break;
      case 5:
        take(4);
        break;
      default:
        throw badModel(file, "it is no ONNX.");
    }
  }
  return fields;
}
