// One instruction on given values, through the whole emulator.

import { DeviceMemory, launch } from "#emulator";
import { parse } from "#ptx";

type Value = number | bigint;
/** A value and the type of its register: "s32", "f64", "pred". */
export type Typed = readonly [type: string, value: Value];

const registerType = (type: string): string => (/8$/.test(type) ? "b16" : type);
const memoryType = (type: string): string =>
  /^b?f16$/.test(type) ? "b16" : /x2$/.test(type) ? "b32" : type;

function put(view: DataView, type: string, value: Value): void {
  if (type === "f32") view.setFloat32(0, Number(value), true);
  else if (type === "f64") view.setFloat64(0, Number(value), true);
  else view.setBigInt64(0, BigInt(value), true);
}

function get(view: DataView, type: string): Value {
  switch (type) {
    case "f32":
      return view.getFloat32(0, true);
    case "f64":
      return view.getFloat64(0, true);
    case "s64":
      return view.getBigInt64(0, true);
    case "u64":
    case "b64":
      return view.getBigUint64(0, true);
    case "s32":
      return view.getInt32(0, true);
    case "s16":
      return view.getInt16(0, true);
    case "s8":
      return view.getInt8(0);
    case "u8":
    case "b8":
      return view.getUint8(0);
    default:
      return /16$/.test(type) ? view.getUint16(0, true) : view.getUint32(0, true);
  }
}

/** The text of a kernel that runs `line`, which writes d from a, b, c, e. */
function kernelOf(line: string, out: string, types: readonly string[]): string {
  const names = ["a", "b", "c", "e"];
  const declared = types.map((type, i) => `.reg .${registerType(type)} ${names[i]};`);
  const loads = types.map((type, i) =>
    type === "pred"
      ? `ld.global.u32 word, [in+${8 * i}]; setp.ne.u32 ${names[i]}, word, 0;`
      : `ld.global.${memoryType(type)} ${names[i]}, [in+${8 * i}];`,
  );
  const store =
    out === "pred"
      ? "selp.u32 word, 1, 0, d; st.global.u32 [to], word;"
      : `st.global.${memoryType(out)} [to], d;`;
  return `.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p0, .param .u64 p1) {
.reg .u64 in, to; .reg .u32 word; .reg .${registerType(out)} d; ${declared.join(" ")}
ld.param.u64 in, [p0]; ld.param.u64 to, [p1];
${loads.join("\n")}
${line}
${store}
ret;
}
`;
}

/** The value of d after `line`. Halves come and go as their 16 bits. */
export function run(line: string, out: string, inputs: readonly Typed[]): Value {
  const module = parse(
    kernelOf(
      line,
      out,
      inputs.map(([type]) => type),
    ),
  );
  const memory = new DeviceMemory();
  const words = new Uint8Array(8 * Math.max(1, inputs.length));
  inputs.forEach(([type, value], i) => {
    put(new DataView(words.buffer, 8 * i, 8), type, value);
  });
  const to = memory.allocate(8);
  launch(module, "k", {
    grid: [1, 1, 1],
    block: [1, 1, 1],
    args: [memory.upload(words), to],
    memory,
  });
  return get(new DataView(memory.read(to, 8).buffer), out);
}

/** `add.s32` with one type for all: its type is its last modifier. */
export function apply(operation: string, values: readonly Value[], out?: string): Value {
  const type = operation.split(".").at(-1) ?? "";
  const names = ["a", "b", "c", "e"].slice(0, values.length);
  return run(
    `${operation} d, ${names.join(", ")};`,
    out ?? type,
    values.map((value) => [type, value] as const),
  );
}
