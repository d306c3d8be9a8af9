// Cotenant's webhook beside a cluster: the command that a cluster runs, and the objects in deploy/kubernetes.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { Cluster } from "./cluster.ts";
import { accountOf } from "./manager.ts";

const command = fileURLToPath(new URL("../../bin/cotenant", import.meta.url));
/** Paths of the webhooks, in the order of their configurations. */
const CONFIGURATIONS = {
  mutating: ["best-effort", "high", "jobs"],
  validating: ["evictions"],
};

export interface Webhook {
  /** It keeps its port and accepts connections, but answers no more until the test has finished. */
  hang(): void;
  /** The same, until the function that it returns is called. */
  pause(): () => void;
  stop(): Promise<void>;
}

/** Starts the webhook of a cluster in which Cotenant is installed, and tells the API server of it. In a cluster a service has its address; here it is a port. */
export async function installWebhook(cluster: Cluster): Promise<Webhook> {
  const { certificate, key } = cluster.serverCertificate("cotenant-webhook");
  const child = spawn(
    command,
    [
      ...["admit-pods", "--listen", "127.0.0.1:0", "--certificate", certificate, "--key", key],
      ...["--server", cluster.server, "--account", await accountOf(cluster, "cotenant-webhook")],
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const url = await addressOf(child);
  const caBundle = readFileSync(cluster.authority).toString("base64");
  for (const [kind, paths] of Object.entries(CONFIGURATIONS)) {
    const patch = paths.map((path, i) => ({
      op: "replace",
      path: `/webhooks/${i}/clientConfig`,
      value: { url: `${url}/${path}`, caBundle },
    }));
    const object = `${kind}webhookconfiguration/cotenant`;
    await cluster.ask(["patch", object, "--type=json", "--patch", JSON.stringify(patch)]);
  }
  const pause = () => {
    child.kill("SIGSTOP");
    return () => {
      child.kill("SIGCONT");
    };
  };
  return {
    hang: () => onTestFinished(pause()),
    pause,
    async stop() {
      child.kill();
      await ended;
    },
  };
}

const addressOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let said = "";
    child.stdout?.on("data", (chunk) => {
      said += chunk;
      const [, url] = /answers at (\S+)\n/.exec(said) ?? [];
      if (url !== undefined) resolve(url);
    });
    child.on("close", () => reject(new Error(`the webhook has ended: ${said}`)));
  });
