// Cotenant's manager beside a cluster: the command that a cluster runs, as the service account in deploy/kubernetes.
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Cluster } from "./cluster.ts";

const command = fileURLToPath(new URL("../../bin/cotenant", import.meta.url));

export interface Manager {
  readonly pid: number;
  /** Its output so far. */
  log(): string;
  stop(): Promise<void>;
  /** Ends it as if its machine had failed: it gives nothing back. */
  kill(): Promise<void>;
}

/** A folder with the token of a service account of Cotenant's, as Kubernetes gives it to a container. */
export async function accountOf(cluster: Cluster, user: string): Promise<string> {
  const account = mkdtempSync(join(cluster.folder, "account-"));
  const token = await cluster.ask(["create", "token", user, "-n", "cotenant-system"]);
  writeFileSync(join(account, "token"), token, { mode: 0o600 });
  copyFileSync(cluster.authority, join(account, "ca.crt"));
  return account;
}

/** It looks at the cluster each half second. Cotenant has to be installed. `args`: more for its command; `user`: its service account; `server`: the address of the API server. */
export async function startManager(
  cluster: Cluster,
  args: readonly string[] = [],
  user = "cotenant-manager",
  server = cluster.server,
): Promise<Manager> {
  const account = await accountOf(cluster, user);
  const child = spawn(
    command,
    [
      ...["match-pods", "--server", server],
      ...["--account", account, "--interval", "500ms", ...args],
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  return {
    pid: child.pid ?? 0,
    log: () => said,
    async stop() {
      child.kill();
      await ended;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
