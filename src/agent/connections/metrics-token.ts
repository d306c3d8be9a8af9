// Prometheus reads the token from a file (credentials_file). It is made once and stays the same, so
// nobody has to act when the agent or Prometheus restarts.
import { randomBytes } from "node:crypto";
import { lstatSync, writeFileSync } from "node:fs";
import { errors, readGiven, tryWrite } from "#core";

/** Throws a UserError if other users could have written the file, or may read it. */
export function metricsToken(path: string, uid: number): string {
  if (!lstatSync(path, { throwIfNoEntry: false })) make(path);
  const text = readGiven(path, "metrics token", (opened) => {
    if (opened.uid !== uid && opened.uid !== 0)
      throw errors.metricsTokenNotBelieved(path, "it belongs to somebody else");
    // The group may read it: Prometheus usually runs as another user.
    if ((opened.mode & 0o027) !== 0)
      throw errors.metricsTokenNotBelieved(path, "others may read it or write to it");
  }).trim();
  if (!/^[\w.~+/=-]{16,}$/.test(text))
    throw errors.metricsTokenNotBelieved(path, "it holds no line of 16 or more letters and digits");
  return text;
}

const make = (path: string): void =>
  tryWrite(path, () =>
    writeFileSync(path, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" }),
  );
