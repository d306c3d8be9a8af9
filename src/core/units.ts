import { badQuantity } from "./errors.ts";

export type Nanos = number & { readonly __unit: "ns" };
export type Micros = number & { readonly __unit: "us" };
export type Millis = number & { readonly __unit: "ms" };
export type WallMillis = Millis & { readonly __since: 1970 };
export type Bytes = number & { readonly __unit: "bytes" };
export const nanos = (n: number): Nanos => n as Nanos;
export const millis = (n: number): Millis => n as Millis;
export const wallMillis = (n: number): WallMillis => n as WallMillis;
export const millisOf = (ns: Nanos): Millis => (ns / 1e6) as Millis;
export const us = (n: number): Micros => n as Micros;
export const ms = (n: number): Micros => (n * 1000) as Micros;
const byteLetters = ["", "k", "m", "g", "t"]; // powers of 1024 or 1000

const timeUnits: Readonly<Record<string, number>> = {
  us: 1,
  ms: 1e3,
  s: 1e6,
  min: 60e6,
  h: 3600e6,
  d: 24 * 3600e6,
};

/** Without "i", as in 20GB, "B" means powers of 10. Throws a UserError. */
export function parseBytes(text: string): Bytes {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b?)$/.exec(text.trim().toLowerCase());
  const [, number = "", letter = "", rest = ""] = match ?? [];
  const base = rest === "b" ? 1000 : 1024;
  const bytes = Math.round(Number(number) * base ** byteLetters.indexOf(letter));
  const fits = match && !(letter === "" && rest.startsWith("i")) && Number.isSafeInteger(bytes);
  if (!fits) throw badQuantity(text, "a size such as 512MiB or 20GiB");
  return bytes as Bytes;
}

/** Takes an age such as "3m" or a local date. Returns ms of the wall clock; throws a UserError. */
export function parseSince(text: string, now: number): number {
  const word = text.trim();
  const minutes = /^(\d+(?:\.\d+)?)\s*m$/.exec(word)?.[1];
  const date = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?$/.test(word)
    ? Date.parse(word.length === 10 ? `${word}T00:00` : word.replace(" ", "T"))
    : Number.NaN;
  if (!Number.isNaN(date)) return date;
  try {
    return now - parseDuration(minutes === undefined ? word : `${minutes}min`) / 1000;
  } catch {
    throw badQuantity(text, "a time such as 90s, 3m, 2h or 1d, or a date such as 2026-11-30T14:05");
  }
}

/** Units are us, ms, s, min, h and d. Throws a UserError. */
export function parseDuration(text: string): Micros {
  if (text.trim() === "0") return us(0);
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/.exec(text.trim());
  const factor = timeUnits[match?.[2] ?? ""];
  if (!match || factor === undefined)
    throw badQuantity(text, "a time such as 200us, 10ms, 2s, 3min or 1h");
  return us(Number(match[1]) * factor);
}
