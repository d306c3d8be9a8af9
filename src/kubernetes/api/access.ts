import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Access {
  readonly server: string;
  /** It is PEM; undefined: one that the system trusts is used. */
  readonly authority?: string | undefined;
  readonly unchecked?: boolean;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Read again for each request: tokens expire and are replaced in their file. */
  token(): string | undefined;
}

/** Throws if the folder lacks a token or a certificate. */
export const accessOf = (server: string, folder: string): Access => ({
  server,
  authority: readFileSync(join(folder, "ca.crt"), "utf8"),
  token: () => readFileSync(join(folder, "token"), "utf8").trim(),
});
