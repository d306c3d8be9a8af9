// Machines without Cotenant, for who wants to follow the guide as somebody new does: pods have a network of their own and
// reach the API server at its address in the cluster, and the first machine gives out a software GPU.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { packageRoot } from "#core";
import { ADDRESS_IN_THE_CLUSTER } from "../certificates.ts";
import type { Cluster } from "../cluster.ts";
import { startDevicePlugin } from "./device-plugin.ts";
import { type Machine, startMachine } from "./machine.ts";

/** UUID of the software GPU whose settings name no other serial number. */
const GPU = "GPU-c07e4a17-50f7-4690-8000-000000000000";
const MEMORY = "/run/cotenant/softgpu";

/** One such cluster at a time: it has an address of the real machine. Resolves to what ends it. */
export async function startBare(
  cluster: Cluster,
  folders: string,
  names: readonly string[],
): Promise<() => Promise<void>> {
  const stops: (() => unknown)[] = [];
  const stop = async () => {
    for (const one of stops.splice(0).reverse()) await one();
  };
  try {
    stops.push(forwardTo(Number(new URL(cluster.server).port)));
    for (const [i, name] of names.entries()) {
      const bridge = `cotenant-${i + 1}`;
      const pods = { bridge, addresses: `10.98.${i + 1}.0/24` };
      // The first pod makes it.
      stops.push(() => ip("link", "delete", bridge));
      const machine = await startMachine(cluster, folders, name, true, pods);
      stops.push(machine.stop);
      if (i === 0) stops.push(await giveOutGpu(machine));
    }
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Gives this machine the address of the API server in the cluster, and forwards what comes there. Returns what ends it. */
function forwardTo(port: number): () => void {
  ip("address", "add", `${ADDRESS_IN_THE_CLUSTER}/32`, "dev", "lo");
  const open = new Set<Socket>();
  const server = createServer((from) => {
    const to = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      open.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => open.delete(one));
    }
  }).listen(443, ADDRESS_IN_THE_CLUSTER);
  return () => {
    server.close();
    for (const one of open) one.destroy();
    ip("address", "delete", `${ADDRESS_IN_THE_CLUSTER}/32`, "dev", "lo");
  };
}

async function giveOutGpu({ folder }: Machine): Promise<() => void> {
  mkdirSync(join(folder, MEMORY), { recursive: true });
  const plugin = await startDevicePlugin(join(folder, "lib/kubelet/device-plugins"), {
    uuids: [GPU],
    envs: { LD_LIBRARY_PATH: "/softgpu", COTENANT_SOFTGPU_DIR: "/softgpu-memory" },
    mounts: [
      { from: join(packageRoot(), "build/native/softgpu"), to: "/softgpu", readOnly: true },
      { from: MEMORY, to: "/softgpu-memory", readOnly: false },
    ],
  });
  return () => plugin.close();
}

/** An object that is gone already needs no removal. */
function ip(...args: readonly string[]): void {
  try {
    execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
  } catch (error) {
    if (args[1] !== "delete") throw error;
  }
}
