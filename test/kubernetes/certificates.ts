// The certificates of a cluster: an authority and the certificates that it signs, by openssl. They live as long as
// the cluster's folder.
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const DAYS = "30";
/** The API server's address in the cluster is the first of the services' addresses. */
export const SERVICE_ADDRESSES = "10.96.0.0/16";
/** Address of the API server, as pods know it. */
export const ADDRESS_IN_THE_CLUSTER = "10.96.0.1";

/** Paths of a certificate and its key, as PEM. */
export interface Signed {
  readonly certificate: string;
  readonly key: string;
}

export interface Authority extends Signed {
  /** A certificate for a server that clients reach by these names. */
  server(name: string, alternatives: readonly string[]): Signed;
  /** A certificate by which the API server knows a user of a group. */
  client(user: string, group: string): Signed;
}

/** Makes an authority whose files are in `folder`. */
export function newAuthority(folder: string): Authority {
  const make = (name: string, args: readonly string[]): Signed => {
    const file = name.replace(/[^a-z0-9-]/gi, "-");
    const made = { certificate: join(folder, `${file}.crt`), key: join(folder, `${file}.key`) };
    execFileSync(
      "openssl",
      [
        ...["req", "-x509", "-noenc", "-days", DAYS, "-sha256"],
        ...["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        ...["-keyout", made.key, "-out", made.certificate, ...args],
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    return made;
  };
  const authority = make("authority", ["-subj", "/CN=authority-of-the-test-cluster"]);
  const signed = ["-CA", authority.certificate, "-CAkey", authority.key];
  const leaf = ["-addext", "basicConstraints=critical,CA:FALSE"];
  return {
    ...authority,
    server: (name, alternatives) =>
      make(name, [
        ...[...signed, ...leaf, "-subj", `/CN=${name}`],
        ...["-addext", "extendedKeyUsage=serverAuth"],
        ...["-addext", `subjectAltName=${alternatives.join(",")}`],
      ]),
    client: (user, group) =>
      make(user, [
        ...[...signed, ...leaf, "-subj", `/O=${group}/CN=${user}`],
        ...["-addext", "extendedKeyUsage=clientAuth"],
      ]),
  };
}

/** The names by which the API server is reached. */
export const apiServerNames = [
  "IP:127.0.0.1",
  `IP:${ADDRESS_IN_THE_CLUSTER}`,
  "DNS:localhost",
  "DNS:kubernetes.default.svc",
];

/** The key that signs the tokens of service accounts, and the file that checks them. */
export function makeTokenKey(folder: string): { readonly signs: string; readonly checks: string } {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const paths = { signs: join(folder, "tokens.key"), checks: join(folder, "tokens.pub") };
  writeFileSync(paths.signs, privateKey, { mode: 0o600 });
  writeFileSync(paths.checks, publicKey);
  return paths;
}
