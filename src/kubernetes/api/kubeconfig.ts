// See kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { Field, isFile, readGiven, usage, wallNow, withPlace } from "#core";
import type { Access } from "./access.ts";

const refuse = (file: string, place: string, what: string, hint?: string) =>
  usage(withPlace(file, place, what), hint);

/** Throws a UserError that names the file and field. `path` and `context` default as kubectl's. */
export function accessFromKubeconfig(
  path: string | undefined,
  context: string | undefined,
  env: NodeJS.ProcessEnv,
): Access {
  const file = path ?? defaultFile(env);
  const whole = parseYaml(readGiven(file, "kubeconfig"), file);
  const name = context ?? whole.at("current-context").or("").value;
  if (typeof name !== "string" || name === "")
    throw usage(`${file} has no current context.`, "Name one with --context.");
  const chosen = named(whole, "contexts", name).at("context");
  const cluster = named(whole, "clusters", chosen.at("cluster").text()).at("cluster");
  const user = chosen.at("user").missing
    ? undefined
    : named(whole, "users", chosen.at("user").text()).at("user");
  const content = (field: Field | undefined, kind: string) => contentOf(field, kind, file);
  const exec =
    user?.at("exec").missing === false ? credentialsOf(user.at("exec"), file) : undefined;
  return {
    server: cluster.at("server").text(),
    authority: content(cluster, "certificate-authority"),
    unchecked: cluster.at("insecure-skip-tls-verify").value === true,
    certificate: content(user, "client-certificate") ?? exec?.().clientCertificateData,
    key: content(user, "client-key") ?? exec?.().clientKeyData,
    token: () =>
      exec?.().token ??
      user?.at("token").optional((one) => one.text()) ??
      user?.at("tokenFile").optional((one) => readGiven(beside(file, one.text()), "token").trim()),
  };
}

function defaultFile(env: NodeJS.ProcessEnv): string {
  const files = (env.KUBECONFIG ?? "").split(delimiter).filter((one) => one !== "");
  const file = files.find(isFile) ?? files[0] ?? join(env.HOME ?? homedir(), ".kube", "config");
  if (!existsSync(file))
    throw usage(
      `There is no kubeconfig: ${file} is missing.`,
      "Name one with --kubeconfig or in KUBECONFIG, such as /etc/kubernetes/admin.conf or, of k3s, /etc/rancher/k3s/k3s.yaml.",
    );
  return file;
}

function parseYaml(text: string, file: string): Field {
  try {
    return new Field(parse(text), file, refuse);
  } catch (error) {
    throw usage(
      `${file} is no YAML: ${error instanceof Error ? error.message.split("\n")[0] : error}`,
    );
  }
}

function named(whole: Field, list: string, name: string): Field {
  const all = whole.at(list).or([]).list();
  const found = all.find((one) => one.at("name").value === name);
  if (found !== undefined) return found;
  const known = all.map((one) => one.at("name").value).join(", ");
  throw whole.at(list).bad(`has no "${name}".`, known && `It has ${known}.`);
}

const beside = (file: string, path: string): string => resolve(dirname(file), path);

/** A kubeconfig holds it as base64 (NAME-data), or names a file (NAME); both are PEM. */
function contentOf(field: Field | undefined, kind: string, file: string): string | undefined {
  const data = field?.at(`${kind}-data`).optional((one) => one.text());
  if (data !== undefined) return Buffer.from(data, "base64").toString();
  const path = field?.at(kind).optional((one) => one.text());
  return path === undefined ? undefined : readGiven(beside(file, path), kind);
}

interface Credentials {
  readonly token?: string;
  readonly clientCertificateData?: string;
  readonly clientKeyData?: string;
  readonly expirationTimestamp?: string;
}

/** A plug-in may ask a person to log in. */
const PLUGIN_WITHIN_MS = 120_000;
const EARLY_MS = 60_000;

/** Plug-ins, such as those of cloud providers, are asked again when their credentials expire. */
function credentialsOf(exec: Field, file: string): () => Credentials {
  const command = exec.at("command").text();
  const args = exec
    .at("args")
    .or([])
    .list()
    .map((one) => one.text());
  const own = exec
    .at("env")
    .or([])
    .list()
    .map((one) => [one.at("name").text(), String(one.at("value").value)] as const);
  const apiVersion = exec.at("apiVersion").or("client.authentication.k8s.io/v1").text();
  let kept: Credentials | undefined;
  return () => {
    const until = kept?.expirationTimestamp;
    if (kept !== undefined && (until === undefined || Date.parse(until) > wallNow() + EARLY_MS))
      return kept;
    const asked = { apiVersion, kind: "ExecCredential", spec: { interactive: false } };
    const path = command.includes("/") ? beside(file, command) : command;
    const { status, stdout, stderr, error } = spawnSync(path, args, {
      encoding: "utf8",
      timeout: PLUGIN_WITHIN_MS,
      env: {
        ...process.env,
        ...Object.fromEntries(own),
        KUBERNETES_EXEC_INFO: JSON.stringify(asked),
      },
    });
    const said = error?.message ?? stderr.trim().split("\n").at(-1);
    if (status !== 0)
      throw usage(`The plug-in ${command}, which ${file} names for its user, failed: ${said}.`);
    kept = parseYaml(stdout, `the answer of ${command}`).at("status").object() as Credentials;
    return kept;
  };
}
