// Kueue beside a cluster: its own program and the objects of its own chart, compiled from its published Go module.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cluster, freePort, run } from "../cluster.ts";
import { environmentWith, type Program, programFolders, startProgram } from "../programs.ts";
import { folderOf, isReady, objectsIn, type Published } from "./published.ts";

export interface Kueue {
  stop(): Promise<void>;
}

/** Kueue's own settings, as its documents have them; the rest is as the chart has it. */
export type Settings = Readonly<Record<string, unknown>>;

/** Parts of Kubernetes' objects in which they name a webhook. */
interface Named {
  clientConfig?: { service?: { path?: string }; url?: string; caBundle?: string };
}

/** The kinds of which the API server must know; the program itself runs beside the cluster. */
const KINDS = /^(CustomResourceDefinition|(Mutating|Validating)WebhookConfiguration)$/;

/** Returns the objects that the chart makes of its defaults. */
async function chartOf(folders: string): Promise<readonly Published[]> {
  const chart = join(folderOf("kueue"), "chart");
  const args = ["template", "kueue", chart, "--namespace", "kueue-system"];
  const { status, stdout, stderr } = await run("helm", args, environmentWith(folders), "");
  if (status !== 0) throw new Error(`helm template: ${stderr}`);
  return objectsIn(stdout);
}

/** Lets the API server ask a port of this machine, where a cluster has a service. */
function atPort(named: Named, port: number, caBundle: string): void {
  const path = named.clientConfig?.service?.path ?? "";
  named.clientConfig = { url: `https://127.0.0.1:${port}${path}`, caBundle };
}

/** Tells the API server of Kueue, and starts it. Resolves when it admits. */
export async function startKueue(cluster: Cluster, settings: Settings = {}): Promise<Kueue> {
  const folders = programFolders(false);
  const chart = await chartOf(folders);
  const [port, health] = [await freePort(), await freePort()];
  const caBundle = readFileSync(cluster.authority).toString("base64");
  for (const object of chart.filter(({ kind }) => KINDS.test(kind))) {
    const { webhook } = object.spec?.conversion ?? {};
    for (const named of [...(object.webhooks ?? []), ...(webhook ? [webhook] : [])])
      atPort(named, port, caBundle);
    await cluster.ask(["apply", "--server-side", "--force-conflicts", "-f", "-"], object);
  }
  await cluster.ask(["wait", "--for=condition=Established", "--timeout=300s", "crd", "--all"]);
  const folder = join(cluster.folder, `kueue-${port}`);
  const certificates = certificatesIn(folder, cluster);
  const map = chart.find(({ data }) => data?.["controller_manager_config.yaml"] !== undefined);
  const [own] = objectsIn(map?.data?.["controller_manager_config.yaml"] ?? "");
  const config = {
    ...own,
    health: { healthProbeBindAddress: `127.0.0.1:${health}` },
    metrics: { bindAddress: "0" },
    webhook: { port, certDir: certificates },
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
    ...settings,
  };
  const path = join(folder, "config.json");
  writeFileSync(path, JSON.stringify(config));
  const program = startInOwnEtc(cluster, folders, folder, [
    `--config=${path}`,
    `--kubeconfig=${cluster.kubeconfigOf("kueue", "system:masters")}`,
    "--feature-gates=VisibilityOnDemand=false",
  ]);
  await isReady(program, `127.0.0.1:${health}`);
  return { stop: () => program.kill() };
}

/** Returns the folder with the certificate of Kueue's webhook. Its metrics want one of the same names. */
function certificatesIn(folder: string, cluster: Cluster): string {
  const { certificate, key } = cluster.serverCertificate("kueue-webhook");
  const made = join(folder, "etc/kueue/metrics/certs");
  mkdirSync(made, { recursive: true });
  for (const [name, from] of Object.entries({ "tls.crt": certificate, "tls.key": key }))
    writeFileSync(join(made, name), readFileSync(from), { mode: 0o600 });
  return made;
}

/** Kueue reads a certificate below /etc/kueue and nowhere else, so it runs where /etc is a folder of its own. */
function startInOwnEtc(
  cluster: Cluster,
  folders: string,
  folder: string,
  args: readonly string[],
): Program {
  const etc = join(folder, "etc");
  const script = 'mount --bind "$0" /etc && exec kueue "$@"';
  return startProgram(
    folders,
    cluster.folder,
    "unshare",
    ["--user", "--map-root-user", "--mount", "sh", "-c", script, etc, ...args],
    { log: `kueue-${folder.split("-").at(-1)}` },
  );
}
