// Packs arguments into the kernel's parameter memory.

import type { Program } from "./compile/program.ts";
import { badLaunch } from "./machine/errors.ts";
import { type Segment, segmentOf } from "./machine/memory.ts";

/** A number for a scalar or an address; bytes for any other parameter. */
export type Argument = number | bigint | Uint8Array;

/** Converts each number to the parameter's type; an untyped parameter (.b32, .b64) takes integers. */
export function packParameters(
  program: Program,
  kernel: string,
  args: readonly Argument[],
): Segment {
  const { placed } = program.params;
  if (args.length !== placed.length)
    throw badLaunch(kernel, `it has ${placed.length} parameters, ${args.length} were given`);
  const segment = segmentOf(program.params.bytes);
  const view = new DataView(segment.u8.buffer);
  placed.forEach(({ variable, declarator, offset, bytes }, i) => {
    const value = args[i] ?? 0;
    const wrong = (why: string) => badLaunch(kernel, `its parameter ${declarator.name} ${why}`);
    if (value instanceof Uint8Array) {
      if (value.length !== bytes) throw wrong(`has ${bytes} bytes, ${value.length} were given`);
      segment.u8.set(value, offset);
    } else if (variable.type === "f32") view.setFloat32(offset, Number(value), true);
    else if (variable.type === "f64") view.setFloat64(offset, Number(value), true);
    else if (typeof value === "number" && !Number.isInteger(value))
      throw wrong(`is a whole number, ${value} is not`);
    else if (bytes === 8) view.setBigUint64(offset, BigInt.asUintN(64, BigInt(value)), true);
    else if (bytes === 4) view.setUint32(offset, Number(BigInt.asUintN(32, BigInt(value))), true);
    else if (bytes === 2) view.setUint16(offset, Number(value) & 0xffff, true);
    else if (bytes === 1) view.setUint8(offset, Number(value) & 0xff);
    else throw wrong("needs its bytes");
  });
  return segment;
}
