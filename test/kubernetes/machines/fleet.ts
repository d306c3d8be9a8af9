// A cluster whose nodes run containers, with all of Cotenant: on each node the agent and the node part, and the webhook and
// the manager beside the control plane.
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { GpuStatus } from "#agent";
import { type Cluster, startCluster, until } from "../cluster.ts";
import { installCotenant } from "../cotenant.ts";
import { type Manager, startManager } from "../manager.ts";
import { programFolders } from "../programs.ts";
import { installWebhook } from "../webhook.ts";
import { type Cotenant, type MachineGpu, softGpu, startCotenant } from "./cotenant.ts";
import type { Kinds, Listed } from "./kinds.ts";
import { type Machine, startMachine } from "./machine.ts";

export const parts = ["node part", "agent", "containerd", "kubelet", "manager"] as const;
type Part = (typeof parts)[number];

export interface FleetNode {
  readonly name: string;
  readonly machine: Machine;
  readonly cotenant: Cotenant;
  /** The agent's status of the machine's GPU; undefined while there is no agent. */
  gpu(): GpuStatus | undefined;
  /** Sets the readings of its GPU's sensors from now on, by the names of the agent's readings. */
  pretend(vitals: object): void;
  /** The output of the container of a pod. */
  logOf(pod: Listed): string;
}

export interface Fleet {
  readonly cluster: Cluster;
  readonly nodes: readonly FleetNode[];
  /** Kills a part and starts it again; on a node the part of that node. */
  restart(part: Part, node: FleetNode): Promise<void>;
  /** An object, or a list of them, as the API server has it. `args`: more words for kubectl. */
  read<K extends keyof Kinds>(kind: K, ...args: readonly string[]): Promise<Kinds[K]>;
  create(object: object): Promise<string>;
  /** Waits until something holds, while all programs run. */
  eventually(what: string, holds: () => Promise<boolean> | boolean): Promise<void>;
  stop(): Promise<void>;
}

/**
 * High pods of the namespace `default` get the library in one of two ways. `nri`: from their node, as its containerd creates
 * them. `webhook`: containerd has no such interface, and the namespace says that its pods may mount folders of the nodes.
 */
export type Injection = "nri" | "webhook";

export async function startFleet(
  names: readonly string[],
  injection: Injection,
  gpuOf: (serial: number) => MachineGpu = softGpu,
): Promise<Fleet> {
  const stops: (() => Promise<void> | void)[] = [];
  const stop = async () => {
    for (const one of stops.splice(0).reverse()) await one();
  };
  try {
    const folders = programFolders(false);
    const cluster = await startCluster(folders, { played: false });
    stops.push(cluster.stop);
    await installCotenant(cluster);
    const webhook = await installWebhook(cluster);
    stops.push(webhook.stop);
    // It and the manager run beside the control plane, and a small machine has no CPUs for pods of them.
    const scaled = ["scale", "deployment", "--all", "--replicas=0", "-n", "cotenant-system"];
    await cluster.ask(scaled);
    if (injection === "webhook")
      await cluster.ask([
        ...["label", "namespace", "default", "pod-security.kubernetes.io/enforce=privileged"],
      ]);
    const nodes: FleetNode[] = [];
    for (const [i, name] of names.entries()) {
      const machine = await startMachine(cluster, folders, name, injection === "nri");
      stops.push(machine.stop);
      const cotenant = await startCotenant(cluster, machine, gpuOf(i + 1));
      stops.push(cotenant.stop);
      nodes.push(nodeOf(machine, cotenant));
    }
    let manager: Manager = await startManager(cluster);
    stops.push(() => manager.stop());
    return {
      cluster,
      nodes,
      async restart(part, { machine, cotenant }) {
        if (part === "manager") {
          await manager.kill();
          manager = await startManager(cluster);
        } else if (part === "containerd" || part === "kubelet") await machine.restart(part);
        else await cotenant.restart(part);
      },
      read: async (kind, ...args) =>
        JSON.parse(await cluster.ask(["get", kind, ...args, "-o", "json"])),
      create: (object) => cluster.ask(["create", "-f", "-"], object),
      eventually: (what, holds) =>
        until(
          what,
          nodes.flatMap(({ machine }) => machine.programs()),
          async () => holds(),
        ),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const nodeOf = (machine: Machine, cotenant: Cotenant): FleetNode => ({
  ...{ name: machine.name, machine, cotenant },
  gpu() {
    try {
      return cotenant.status().gpus[0];
    } catch {
      return undefined; // there is no agent now
    }
  },
  pretend(vitals) {
    const path = join(machine.folder, "run/cotenant/softgpu/vitals.json");
    writeFileSync(`${path}.new`, JSON.stringify({ all: vitals }));
    renameSync(`${path}.new`, path);
  },
  logOf({ metadata: { namespace, name, uid } }) {
    const folder = join(machine.folder, "log/pods", `${namespace}_${name}_${uid}`, "main");
    return (
      readdirSync(folder)
        .map((file) => readFileSync(join(folder, file), "utf8"))
        .flatMap((text) => text.split("\n"))
        // As container runtimes write it: time, stream, whether the line is whole, and the line.
        .flatMap((line) => line.match(/^\S+ stdout [FP] (.*)$/)?.[1] ?? [])
        .join("\n")
    );
  },
});
