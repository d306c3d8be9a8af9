// A cluster on this machine, of Kubernetes' own programs: etcd, API server, controller manager and scheduler, and kwok,
// which plays the nodes. Nothing of it runs containers: kwok says that pods run.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  apiServerNames,
  makeTokenKey,
  newAuthority,
  SERVICE_ADDRESSES,
  type Signed,
} from "./certificates.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { environmentWith, type Program, startProgram } from "./programs.ts";

/** The output of kubectl or another command. */
export interface Output {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Cluster {
  readonly folder: string;
  /** The API server, and the certificate of who signed its certificate. */
  readonly server: string;
  readonly authority: string;
  /** Path of an administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Path of the kubeconfig of another user, in this group. */
  kubeconfigOf(user: string, group: string): string;
  /** Makes a certificate for a server on this machine, such as a webhook. */
  serverCertificate(name: string): Signed;
  /** Runs kubectl as an administrator. `input` is what it reads from `-f -`; an object becomes JSON. */
  kubectl(args: readonly string[], input?: unknown): Promise<Output>;
  /** The same, and what it printed. Throws with what kubectl said when it fails. */
  ask(args: readonly string[], input?: unknown): Promise<string>;
  /** Ends one of its programs as if it had crashed, and starts it again. Resolves when the API server answers. */
  restart(program: string): Promise<void>;
  /** Pid of one of its programs, as it runs now. */
  pidOf(program: string): number;
  /** Lets etcd forget all that is not current: what a watch has missed can't be told any more. */
  compact(): Promise<void>;
  /** Ends all programs and removes the folder. */
  stop(): Promise<void>;
}

/** For what must happen some time; only a machine that stands still takes so long. */
const WITHIN_MS = 900_000;

const KUBELETS_LEASE_S = 40;

export interface ClusterOptions {
  /** Whether kwok plays nodes; if not, machines that run containers may join. */
  readonly played?: boolean;
  /** Length of the Leases of nodes that kwok plays, which it renews four times in it. By default as kubelet has it. */
  readonly leaseSeconds?: number;
  /** Requests a second that the controller manager and the scheduler may send; by default as Kubernetes has it. */
  readonly requestsPerSecond?: number;
  /** Feature gates of the API server, as in NAME=false. */
  readonly featureGates?: string;
}

/** Starts a cluster without nodes. Throws with the log of the program that failed. */
export async function startCluster(
  folders: string,
  options: ClusterOptions = {},
): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "cotenant-kubernetes-"));
  const programs: Program[] = [];
  const stop = async () => {
    // The clients of a program end before it.
    for (const program of programs.toReversed()) await program.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    return await startIn(folder, folders, programs, stop, options);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startIn(
  folder: string,
  folders: string,
  programs: Program[],
  stop: () => Promise<void>,
  {
    played = true,
    leaseSeconds = KUBELETS_LEASE_S,
    requestsPerSecond,
    featureGates,
  }: ClusterOptions,
): Promise<Cluster> {
  const limits =
    requestsPerSecond === undefined
      ? []
      : [`--kube-api-qps=${requestsPerSecond}`, `--kube-api-burst=${2 * requestsPerSecond}`];
  const authority = newAuthority(folder);
  const port = await freePort();
  const server = `https://127.0.0.1:${port}`;
  const kubeconfigOf = (user: string, group = user) =>
    writeKubeconfig(folder, user, server, authority, authority.client(user, group));
  const kubeconfig = kubeconfigOf("administrator", "system:masters");
  const startAgain = new Map<string, () => void>();
  const start = (name: string, args: readonly string[]) => {
    const begin = () => {
      const program = startProgram(folders, folder, name, args);
      const before = programs.findIndex((one) => one.name === name);
      if (before < 0) programs.push(program);
      else programs[before] = program;
    };
    startAgain.set(name, begin);
    begin();
  };
  const kubectl: Cluster["kubectl"] = (args, input) =>
    run("kubectl", ["--kubeconfig", kubeconfig, ...args], environmentWith(folders), input);
  const ask: Cluster["ask"] = async (args, input) => {
    const { status, stdout, stderr } = await kubectl(args, input);
    if (status !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
    return stdout;
  };

  start("etcd", etcdArguments(folder));
  const tokens = makeTokenKey(folder);
  const serving = authority.server("kube-apiserver", apiServerNames);
  start("kube-apiserver", [
    `--etcd-servers=unix://${join(folder, "etcd.sock")}`,
    ...["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", `--secure-port=${port}`],
    // An address of loopback can't be an endpoint of the service `kubernetes`.
    "--endpoint-reconciler-type=none",
    // Nothing here forwards the addresses of services: a webhook's pods are asked at their own.
    "--enable-aggregator-routing",
    // As kubeadm has it.
    "--allow-privileged",
    `--service-cluster-ip-range=${SERVICE_ADDRESSES}`,
    `--tls-cert-file=${serving.certificate}`,
    `--tls-private-key-file=${serving.key}`,
    `--client-ca-file=${authority.certificate}`,
    `--service-account-issuer=https://kubernetes.default.svc`,
    `--service-account-key-file=${tokens.checks}`,
    `--service-account-signing-key-file=${tokens.signs}`,
    "--authorization-mode=Node,RBAC",
    ...(featureGates === undefined ? [] : [`--feature-gates=${featureGates}`]),
    `--cert-dir=${folder}`,
  ]);
  const answers = () =>
    until("the API server is ready", programs, async () => {
      return (await kubectl(["get", "--raw=/readyz"])).status === 0;
    });
  await answers();
  start("kube-controller-manager", [
    `--kubeconfig=${kubeconfigOf("system:kube-controller-manager")}`,
    ...["--leader-elect=false", "--secure-port=0", "--use-service-account-credentials"],
    `--service-account-private-key-file=${tokens.signs}`,
    `--root-ca-file=${authority.certificate}`,
    ...limits,
    // A node is not ready when its Lease was not renewed for this long.
    ...(leaseSeconds === KUBELETS_LEASE_S ? [] : [`--node-monitor-grace-period=${leaseSeconds}s`]),
  ]);
  start("kube-scheduler", [
    `--kubeconfig=${kubeconfigOf("system:kube-scheduler")}`,
    ...["--leader-elect=false", "--secure-port=0"],
    ...limits,
  ]);
  if (played)
    start("kwok", [
      `--config=${fileURLToPath(new URL("kwok.yaml", import.meta.url))}`,
      `--kubeconfig=${kubeconfigOf("kwok", "system:masters")}`,
      ...["--manage-all-nodes=true", "--node-ip=127.0.0.1", "--node-port=0", "--cidr=10.97.0.0/16"],
      `--node-lease-duration-seconds=${leaseSeconds}`,
    ]);
  // Pods can't be created before.
  await until("there is a service account", programs, async () => {
    return (await kubectl(["get", "serviceaccount", "default"])).status === 0;
  });
  return {
    folder,
    server,
    authority: authority.certificate,
    kubeconfig,
    kubeconfigOf,
    serverCertificate: (name) => authority.server(name, ["IP:127.0.0.1"]),
    kubectl,
    ask,
    async restart(name) {
      await programs.find((one) => one.name === name)?.kill();
      startAgain.get(name)?.();
      await answers();
    },
    pidOf: (name) => programs.find((one) => one.name === name)?.pid ?? 0,
    compact: () => compactEtcd(join(folder, "etcd.sock")),
    stop,
  };
}

/** It listens at sockets in the folder, which is its owner's alone. It wants addresses to tell others, but there are none. */
function etcdArguments(folder: string): readonly string[] {
  const data = join(folder, "etcd");
  mkdirSync(data, { mode: 0o700 });
  return [
    ...["--data-dir", data, "--unsafe-no-fsync"],
    ...["--listen-client-urls", `unix://${join(folder, "etcd.sock")}`],
    ...["--listen-peer-urls", `unix://${join(folder, "etcd-peer.sock")}`],
    ...["--advertise-client-urls", "http://localhost:1"],
    ...["--initial-advertise-peer-urls", "http://localhost:2"],
    ...["--initial-cluster", "default=http://localhost:2"],
  ];
}

/** By etcd's own JSON API, at its socket. */
async function compactEtcd(socketPath: string): Promise<void> {
  const ask = (path: string, body: object) =>
    new Promise<string>((resolve, reject) => {
      const sent = request({ socketPath, path, method: "POST" }, async (response) => {
        const said = Buffer.concat(await response.toArray()).toString();
        if (response.statusCode === 200) resolve(said);
        else reject(new Error(`etcd: ${said}`));
      });
      sent.on("error", reject);
      sent.end(JSON.stringify(body));
    });
  const { header } = JSON.parse(
    await ask("/v3/kv/range", { key: Buffer.from("a").toString("base64") }),
  );
  await ask("/v3/kv/compaction", { revision: header.revision, physical: true });
}

/** Waits until something holds. Throws when it takes too long, or when a program of the cluster has ended. */
export async function until(
  what: string,
  programs: readonly Program[],
  holds: () => Promise<boolean>,
  withinMs: number = WITHIN_MS,
): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await holds())) {
    const dead = programs.find((program) => !program.running());
    if (dead !== undefined)
      throw new Error(`${dead.name} has ended:\n${dead.log().split("\n").slice(-20).join("\n")}`);
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** A port of loopback that nobody listens at now. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });

export const run = (
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  input: unknown,
): Promise<Output> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { env });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk) => (stdout += chunk));
    child.stderr.on("data", (chunk) => (stderr += chunk));
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stdout, stderr }));
    child.stdin.on("error", () => {}); // the command ended without reading; its status shows whether it failed
    child.stdin.end(typeof input === "string" ? input : JSON.stringify(input ?? ""));
  });
