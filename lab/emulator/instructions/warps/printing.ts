// vprintf: the device's printf, with the conversions that CUDA documents.
import { HEAP_WINDOW, LOCAL_WINDOW, WORD } from "../../machine/memory.ts";
import type { Warp } from "../../machine/warp.ts";

/** The bytes at a generic address, in the heap or in the lane's local memory. */
function bytesAt(w: Warp, lane: number, address: bigint): Uint8Array {
  const at = Number(address);
  if (Math.floor(at / WORD) === LOCAL_WINDOW) {
    const from = lane * w.localBytes + (at % WORD);
    return w.local.u8.subarray(from, (lane + 1) * w.localBytes);
  }
  const { memory } = w.block.running;
  const offset = at - HEAP_WINDOW * WORD;
  memory.find(offset, 1, "a load", lane);
  return memory.heap.u8.subarray(offset, memory.end);
}

function textAt(w: Warp, lane: number, address: bigint): string {
  const bytes = bytesAt(w, lane, address);
  const end = bytes.indexOf(0);
  return Buffer.from(bytes.subarray(0, end < 0 ? bytes.length : end)).toString("latin1");
}

const conversion = /%([-+ 0#]*)(\d*)(?:\.(\d+))?(hh|h|ll|l)?([diuxXofFeEgGcsp%])/g;

/** Prints one call's text: `given` are the addresses of the format and of the packed arguments. */
export function printLine(w: Warp, lane: number, given: readonly bigint[]): void {
  const [format = 0n, packed = 0n] = given;
  const text = textAt(w, lane, format);
  const args = packed === 0n ? new Uint8Array(0) : bytesAt(w, lane, packed);
  const view = new DataView(args.buffer, args.byteOffset, args.byteLength);
  let at = 0;
  const next = (bytes: number): number => {
    const start = Math.ceil(at / bytes) * bytes;
    at = start + bytes;
    return start;
  };
  const line = text.replace(
    conversion,
    (
      _all,
      flags: string,
      width: string,
      precision: string | undefined,
      size: string,
      kind: string,
    ) => {
      if (kind === "%") return "%";
      const places = precision === undefined ? 6 : Number(precision);
      let body: string;
      if (kind === "s") body = textAt(w, lane, view.getBigUint64(next(8), true));
      else if (kind === "p") body = `0x${view.getBigUint64(next(8), true).toString(16)}`;
      else if ("fFeEgG".includes(kind)) body = float(view.getFloat64(next(8), true), kind, places);
      else {
        const long = size === "l" || size === "ll";
        const signed = kind === "d" || kind === "i";
        const value = long
          ? signed
            ? view.getBigInt64(next(8), true)
            : view.getBigUint64(next(8), true)
          : BigInt(signed ? view.getInt32(next(4), true) : view.getUint32(next(4), true));
        if (kind === "c") body = String.fromCharCode(Number(value));
        else if (kind === "x") body = value.toString(16);
        else if (kind === "X") body = value.toString(16).toUpperCase();
        else body = value.toString(kind === "o" ? 8 : 10);
      }
      if (flags.includes("+") && !body.startsWith("-") && "dfFeEgGi".includes(kind))
        body = `+${body}`;
      const wide = Number(width || 0);
      if (flags.includes("-")) return body.padEnd(wide);
      return flags.includes("0") ? padZeros(body, wide) : body.padStart(wide);
    },
  );
  w.block.running.printed.push(line);
}

const padZeros = (body: string, width: number): string => {
  const sign = /^[-+]/.test(body) ? body.slice(0, 1) : "";
  return sign + body.slice(sign.length).padStart(width - sign.length, "0");
};

function float(value: number, kind: string, places: number): string {
  const lower = kind.toLowerCase();
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (lower === "f") return value.toFixed(places);
  const exponent = (x: string) => x.replace(/e([+-])(\d)$/, "e$10$2");
  if (lower === "e") return exponent(value.toExponential(places));
  return exponent(String(Number(value.toPrecision(Math.max(1, places)))));
}
