import { badQuantity } from "./errors.ts";

export interface Address {
  readonly host: string;
  readonly port: number; // 0: any free one
}

const MAX_PORT = 65_535;

export function parseAddress(text: string): Address {
  const [, bracketed, plain, port = ""] =
    /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > MAX_PORT)
    throw badQuantity(text, "HOST:PORT, such as 0.0.0.0:9464 or [::]:9464");
  return { host, port: Number(port) };
}

export const showAddress = ({ host, port }: Address): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`;
