// Pods whose containers run: kubelet, containerd and runc on this machine, with the software GPU.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessOf, connect } from "#kubernetes";
import { service, training } from "../e2e/faults.ts";
import { type Cluster, startCluster, until } from "./cluster.ts";
import { installCotenant } from "./cotenant.ts";
import { whyNot } from "./here.ts";
import { type Cotenant, startCotenant } from "./machines/cotenant.ts";
import { IMAGE } from "./machines/image.ts";
import { type Machine, startMachine } from "./machines/machine.ts";
import { loadPod, whyNoMachines } from "./machines/pods.ts";
import { type Manager, startManager } from "./manager.ts";
import * as pods from "./pods.ts";
import { programFolders } from "./programs.ts";
import { installWebhook, type Webhook } from "./webhook.ts";

const why = whyNot() ?? whyNoMachines();
if (why !== undefined) console.error(`SKIPPED: pods that run, because ${why}`);

const GIB = 2 ** 30;

describe.skipIf(why !== undefined)("on a machine with a GPU", () => {
  let cluster: Cluster;
  let machine: Machine;
  let cotenant: Cotenant;
  let webhook: Webhook;
  let manager: Manager;

  beforeAll(async () => {
    const folders = programFolders(false);
    cluster = await startCluster(folders, { played: false });
    await installCotenant(cluster);
    webhook = await installWebhook(cluster);
    await cluster.ask([
      ...["label", "namespace", "default", "pod-security.kubernetes.io/enforce=privileged"],
    ]);
    machine = await startMachine(cluster, folders, "node-1");
    cotenant = await startCotenant(cluster, machine, 1);
    manager = await startManager(cluster);
  });
  afterAll(async () => {
    await manager?.stop();
    cotenant?.stop();
    await machine?.stop();
    await webhook?.stop();
    await cluster?.stop();
  });

  const read = async (...args: string[]) =>
    JSON.parse(await cluster.ask(["get", ...args, "-o", "json"]));
  const create = (object: object) => cluster.ask(["create", "-f", "-"], object);
  const onGpu = () => cotenant.status().gpus[0];
  const eventually = (what: string, holds: () => Promise<boolean> | boolean) =>
    until(what, machine.programs(), async () => holds());
  const taints = async () =>
    (await read("resourceslices")).items
      .flatMap(({ spec }: { spec: { devices: { taints?: object[] }[] } }) => spec.devices)
      .flatMap(({ taints = [] }: { taints?: object[] }) => taints);
  const logOf = (pod: { metadata: { namespace: string; name: string; uid: string } }) => {
    const { namespace, name, uid } = pod.metadata;
    const folder = join(machine.folder, "log/pods", `${namespace}_${name}_${uid}`, "main");
    return (
      readdirSync(folder)
        .map((file) => readFileSync(join(folder, file), "utf8"))
        .flatMap((text) => text.split("\n"))
        // As container runtimes write it: time, stream, whether the line is whole, and the line.
        .map((line) => line.match(/^\S+ stdout [FP] (.*)$/)?.[1] ?? "")
        .join("\n")
    );
  };

  test("a service and a best-effort pod share the GPU by class, through restarts of everything", async () => {
    await eventually("kubelet has a GPU", async () => {
      return (await read("node", "node-1")).status.allocatable["nvidia.com/gpu"] === "1";
    });
    expect(cotenant.gpu).toBe("GPU-c07e4a17-50f7-4690-8000-000000000100");
    expect(await taints()).toMatchObject([{ key: "cotenant.io/service", value: "none" }]);

    await create(pods.asObject(loadPod(pods.high(), 1000, service)));
    await cluster.ask(["wait", "--for=condition=Ready", "--timeout=300s", "pod/serve"]);
    const serve = await read("pod", "serve");
    await eventually("the service is a client", () => onGpu()?.high.length === 1);
    expect(onGpu()?.high[0]).toMatchObject({
      identity: { uid: 1000, pod: serve.metadata.uid },
      grant: "default/serve",
    });
    await eventually("its node says so", async () => {
      const { status } = await read("gpunode", "node-1");
      return status?.gpus[0]?.podUid === serve.metadata.uid;
    });

    const job = loadPod(pods.bestEffort(), 2000, training);
    await create(pods.jobOf(job, "train"));
    await eventually("the training is a client", () => onGpu()?.bestEffort.length === 1);
    const [train] = (await read("pods", "-l", "app=train")).items;
    expect(onGpu()?.bestEffort[0]).toMatchObject({
      name: train.metadata.name,
      identity: { uid: 2000, pod: train.metadata.uid },
      memoryQuota: 10 * GIB,
    });
    const held = () => onGpu()?.bestEffort[0]?.heldSeconds ?? 0;
    await eventually("requests hold it", () => held() > 0);

    const done = () => onGpu()?.bestEffort[0]?.finishedSeconds ?? 0;
    const parts = ["node part", "agent", "containerd", "kubelet"] as const;
    const restart = (part: (typeof parts)[number]) =>
      part === "containerd" || part === "kubelet" ? machine.restart(part) : cotenant.restart(part);
    for (const some of [...parts.map((part) => [part]), parts]) {
      await Promise.all(some.map(restart));
      await eventually(`both are clients after a restart of ${some.join(", ")}`, () => {
        const gpu = safely(onGpu);
        return gpu?.high[0]?.connected === true && gpu.bestEffort[0]?.connected === true;
      });
      const before = done();
      await eventually("the training goes on", () => done() > before);
    }
    await eventually("the node is ready again", async () => {
      const { conditions } = (await read("node", "node-1")).status;
      return conditions.some(
        (one: { type: string; status: string }) => one.type === "Ready" && one.status === "True",
      );
    });
    for (const name of ["serve", train.metadata.name]) {
      const [status] = (await read("pod", name)).status.containerStatuses;
      expect([name, status.restartCount, status.state.running !== undefined]).toEqual([
        name,
        0,
        true,
      ]);
    }

    // The service ends in order: its log says whether each request was served. Another pod gets its GPU.
    machine.run("kill", [String(onGpu()?.high[0]?.pid)]);
    await create(pods.asObject(strangerPod));
    await eventually("best-effort work is held for the stranger", () => {
      return onGpu()?.heldBecause?.includes("default/stranger") === true;
    });
    expect(JSON.parse(logOf(serve))).toMatchObject({ intact: true });
    expect(await taints()).toMatchObject([{ key: "cotenant.io/service", value: "other" }]);
    await eventually("the training is evicted", async () => {
      const items = (await read("pods", "-l", "app=train")).items;
      return items.every(
        (pod: { metadata: { uid: string } }) => pod.metadata.uid !== train.metadata.uid,
      );
    });
    await eventually("its claim is not prepared any more", () => {
      return readdirSync(join(machine.folder, "run/cdi")).length === 0;
    });
  });

  test("a node part speaks of its own node alone", async () => {
    const api = connect(accessOf(cluster.server, join(machine.folder, "account")));
    const slice = {
      ...{ apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: { name: "other" } },
      spec: {
        ...{ driver: "gpu.cotenant.io", nodeName: "node-2", devices: [] },
        pool: { name: "node-2", generation: 1, resourceSliceCount: 1 },
      },
    };
    await expect(api.apply("/apis/resource.k8s.io/v1/resourceslices/other", slice)).rejects.toThrow(
      "The node part of node-1 may not speak of the node node-2.",
    );
    await expect(
      api.apply("/apis/cotenant.io/v1alpha1/gpunodes/node-2", {
        ...{ apiVersion: "cotenant.io/v1alpha1", kind: "GPUNode", metadata: { name: "node-2" } },
      }),
    ).rejects.toThrow("The node part of node-1 may not speak of the node node-2.");
  });
});

/** It has a GPU, and has not opted in. */
const strangerPod = {
  metadata: { name: "stranger" },
  spec: {
    ...loadPod(pods.plain(), 3000, []).spec,
    containers: [
      {
        ...{ name: "main", image: IMAGE, imagePullPolicy: "Never" },
        resources: { limits: { "nvidia.com/gpu": "1" } },
      },
    ],
  },
};

function safely<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined; // there is no agent yet
  }
}
