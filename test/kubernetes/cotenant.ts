// The command `cotenant` with a cluster.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Cluster, Output } from "./cluster.ts";

const cotenant = fileURLToPath(new URL("../../bin/cotenant", import.meta.url));
const laboratory = fileURLToPath(new URL("../../bin/cotenant-lab", import.meta.url));

/** Runs `cotenant cluster …` as the administrator of a cluster. */
export const cotenantCluster = (cluster: Cluster, args: readonly string[]): Promise<Output> =>
  run(cotenant, ["cluster", ...args], cluster);

/** Runs `cotenant-lab simulate …` as the administrator of a cluster. */
export const simulated = (cluster: Cluster, args: readonly string[]): Promise<Output> =>
  run(laboratory, ["simulate", ...args], cluster);

const run = (command: string, args: readonly string[], cluster: Cluster): Promise<Output> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, [...args, "--kubeconfig", cluster.kubeconfig]);
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk) => (stdout += chunk));
    child.stderr.on("data", (chunk) => (stderr += chunk));
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });

/** Installs Cotenant. There are no nodes yet on which its pods could run; the tests run its programs themselves. */
export async function installCotenant(cluster: Cluster): Promise<void> {
  const { status, stderr } = await cotenantCluster(cluster, ["install", "--wait", "0s"]);
  if (status !== 0) throw new Error(`cotenant cluster install: ${stderr}`);
}
