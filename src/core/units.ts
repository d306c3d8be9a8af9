// Numbers whose type names their unit. The unit exists only in the type checker. At run time a Micros is a plain
// number of microseconds.
import { badQuantity } from "./errors.ts";

export type Micros = number & { readonly __unit: "us" };
export type Bytes = number & { readonly __unit: "bytes" };

export const us = (n: number): Micros => n as Micros;
export const ms = (n: number): Micros => (n * 1000) as Micros;

const byteUnits: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
};

const timeUnits: Readonly<Record<string, number>> = { us: 1, ms: 1e3, s: 1e6 };

/** "20GiB" → bytes. Whole units only: B, KB, MB, GB, KiB, MiB, GiB; throws a UserError otherwise. */
export function parseBytes(text: string): Bytes {
  const match = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text.trim());
  const factor = byteUnits[match?.[2] ?? ""];
  const bytes = Math.round(Number(match?.[1]) * (factor ?? Number.NaN));
  if (!Number.isSafeInteger(bytes)) throw badQuantity(text, "a size such as 512MiB or 20GiB");
  return bytes as Bytes;
}

/** "10ms" → microseconds. Units us, ms, s; throws a UserError otherwise. */
export function parseDuration(text: string): Micros {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/.exec(text.trim());
  const factor = timeUnits[match?.[2] ?? ""];
  if (!match || factor === undefined) throw badQuantity(text, "a time such as 200us, 10ms or 2s");
  return us(Number(match[1]) * factor);
}
