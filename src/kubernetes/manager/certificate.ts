// The library for certificates decorates its classes with this module.
import "reflect-metadata";
import { createPrivateKey, webcrypto, X509Certificate } from "node:crypto";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { type Api, ApiError } from "../api/client.ts";
import { SYSTEM_NAMESPACE, WEBHOOK_CONFIGURATION, WEBHOOK_SECRET } from "../labels/names.ts";

const DAY_MS = 24 * 3600 * 1000;
const VALID_MS = 365 * DAY_MS;
const RENEWED_BEFORE_MS = 60 * DAY_MS;
/** Certificates are valid from long ago on: an API server takes one although our clock is ahead. */
const VALID_FROM = new Date("2020-01-01T00:00:00Z");

const secrets = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/secrets`;
const configurations = ["mutating", "validating"].map(
  (kind) =>
    `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations/${WEBHOOK_CONFIGURATION}`,
);

interface Secret {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

interface Configuration {
  readonly webhooks?: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

/** `names` may be addresses. `wallNow`: ms since 1970. Rejects with an ApiError on a refusal. */
export async function certify(api: Api, names: readonly string[], wallNow: number): Promise<void> {
  const secret = await api.find<Secret>(`${secrets}/${WEBHOOK_SECRET}`);
  const kept = textOf(secret, "tls.crt");
  if (kept === undefined || !isGood(kept, names, wallNow)) {
    const made = await makeCertificate(names, wallNow);
    // Trusted before it is used, beside the one that webhooks still use.
    await trust(
      api,
      [made.certificate, kept].filter((one) => one !== undefined),
    );
    await keep(api, secret, made);
  } else await trust(api, [kept]);
}

const textOf = (secret: Secret | undefined, name: string): string | undefined => {
  const data = secret?.data?.[name];
  return data === undefined ? undefined : Buffer.from(data, "base64").toString();
};

function isGood(pem: string, names: readonly string[], wallNow: number): boolean {
  try {
    const certificate = new X509Certificate(pem);
    return (
      Date.parse(certificate.validTo) - wallNow > RENEWED_BEFORE_MS &&
      names.every((name) => certificate.checkHost(name) ?? certificate.checkIP(name))
    );
  } catch {
    return false;
  }
}

async function trust(api: Api, certificates: readonly string[]): Promise<void> {
  for (const configuration of configurations) await trustIn(api, configuration, certificates);
}

async function trustIn(
  api: Api,
  configuration: string,
  certificates: readonly string[],
): Promise<void> {
  const { webhooks = [] } = await api.get<Configuration>(configuration);
  const [first = ""] = certificates;
  const value = Buffer.from(certificates.join("\n")).toString("base64");
  const stale = webhooks.flatMap(({ clientConfig: { caBundle = "" } }, i) =>
    Buffer.from(caBundle, "base64").toString().includes(first.trim()) ? [] : [i],
  );
  if (stale.length === 0) return;
  await api.patch(
    configuration,
    stale.map((i) => ({ op: "add", path: `/webhooks/${i}/clientConfig/caBundle`, value })),
  );
}

async function keep(
  api: Api,
  before: Secret | undefined,
  { certificate, key }: { readonly certificate: string; readonly key: string },
): Promise<void> {
  const data = {
    "tls.crt": Buffer.from(certificate).toString("base64"),
    "tls.key": Buffer.from(key).toString("base64"),
  };
  if (before !== undefined)
    return void (await api.replace(`${secrets}/${WEBHOOK_SECRET}`, { ...before, data }));
  try {
    await api.create(secrets, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: WEBHOOK_SECRET, namespace: SYSTEM_NAMESPACE },
      type: "kubernetes.io/tls",
      data,
    });
  } catch (error) {
    // Another manager was faster: the next sample trusts its certificate.
    if (!(error instanceof ApiError && error.status === 409)) throw error;
  }
}

/** Both are PEM. */
async function makeCertificate(names: readonly string[], wallNow: number) {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=cotenant-webhook",
    notBefore: VALID_FROM,
    notAfter: new Date(wallNow + VALID_MS),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(
        names.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? "ip" : "dns", value })),
      ),
    ],
  });
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  const key = createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" });
  return {
    certificate: `${certificate.toString("pem")}\n`,
    key: key.export({ format: "pem", type: "pkcs8" }) as string,
  };
}
