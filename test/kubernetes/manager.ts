// Cotenant's manager beside a cluster: the command that a cluster runs, as the service account in deploy/kubernetes.
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Cluster } from "./cluster.ts";

const command = fileURLToPath(new URL("../../bin/cotenant", import.meta.url));

export interface Manager {
  /** What it has said. */
  log(): string;
  stop(): Promise<void>;
}

/** It looks at the cluster each half second. deploy/kubernetes/manager.yaml has to be there. */
export async function startManager(cluster: Cluster): Promise<Manager> {
  const account = join(cluster.folder, "manager");
  mkdirSync(account, { recursive: true });
  const token = await cluster.ask(["create", "token", "cotenant-manager", "-n", "cotenant-system"]);
  writeFileSync(join(account, "token"), token, { mode: 0o600 });
  copyFileSync(cluster.authority, join(account, "ca.crt"));
  const child = spawn(
    command,
    [
      ...["match-pods", "--server", cluster.server],
      ...["--account", account, "--interval", "500ms"],
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  return {
    log: () => said,
    async stop() {
      child.kill();
      await ended;
    },
  };
}
