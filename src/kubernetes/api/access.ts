// The identity with which the API server is asked, and the certificate by which the server is known.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Access {
  /** Its address, such as https://10.0.0.1:6443. */
  readonly server: string;
  /** The certificate of the authority that signed the server's, PEM; undefined: one that the system trusts. */
  readonly authority?: string | undefined;
  /** The server's certificate is not checked. */
  readonly unchecked?: boolean;
  /** The user's certificate, PEM. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Read again for each request: tokens expire and are replaced in their file. */
  token(): string | undefined;
}

/** As Kubernetes gives it to a container: a folder with a token and a certificate. Throws if it is not there. */
export const accessOf = (server: string, folder: string): Access => ({
  server,
  authority: readFileSync(join(folder, "ca.crt"), "utf8"),
  token: () => readFileSync(join(folder, "token"), "utf8").trim(),
});
