// The kubeconfig of a client of the API server, as kubectl and all other clients read it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Signed } from "./certificates.ts";

/** Writes NAME.kubeconfig into `folder`, for a user with this certificate. Returns its path. */
export function writeKubeconfig(
  folder: string,
  name: string,
  server: string,
  authority: Signed,
  user: Signed,
): string {
  const path = join(folder, `${name}.kubeconfig`);
  const content = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "test", cluster: { server, "certificate-authority": authority.certificate } },
    ],
    users: [{ name, user: { "client-certificate": user.certificate, "client-key": user.key } }],
    contexts: [{ name: "test", context: { cluster: "test", user: name } }],
    "current-context": "test",
  };
  // Every document of JSON is one of YAML.
  writeFileSync(path, JSON.stringify(content), { mode: 0o600 });
  return path;
}
