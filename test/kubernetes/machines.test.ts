// Pods whose containers run: kubelet, containerd and runc on this machine, with the software GPU.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessOf, connect } from "#kubernetes";
import { service, training } from "../e2e/faults.ts";
import { whyNot } from "./here.ts";
import { type Fleet, type FleetNode, parts, startFleet } from "./machines/fleet.ts";
import { IMAGE } from "./machines/image.ts";
import { loadPod, whyNoMachines } from "./machines/pods.ts";
import * as pods from "./pods.ts";

const why = whyNot() ?? whyNoMachines();
if (why !== undefined) console.error(`SKIPPED: pods that run, because ${why}`);

const GIB = 2 ** 30;
/** As the shape of `service` has it. */
const SERVED_PER_SECOND = 50;

describe.skipIf(why !== undefined)("on a machine with a GPU", () => {
  let fleet: Fleet;
  let node: FleetNode;
  beforeAll(async () => {
    fleet = await startFleet(["node-1"], "nri");
    node = fleet.nodes[0] as FleetNode;
  });
  afterAll(() => fleet?.stop());

  const taints = async () =>
    (await fleet.read("resourceslices")).items
      .flatMap(({ spec }) => spec.devices)
      .flatMap(({ taints = [] }) => taints);

  test("a service and a best-effort pod share the GPU by class, through deaths of everything", async () => {
    await fleet.eventually("kubelet has a GPU", async () => {
      return (await fleet.read("node", "node-1")).status.allocatable["nvidia.com/gpu"] === "1";
    });
    expect(node.cotenant.gpu).toBe("GPU-c07e4a17-50f7-4690-8000-000000000100");
    expect(await taints()).toMatchObject([{ key: "cotenant.io/service", value: "none" }]);

    await fleet.create(pods.asObject(loadPod(pods.high(), 1000, service)));
    await fleet.cluster.ask(["wait", "--for=condition=Ready", "--timeout=300s", "pod/serve"]);
    const serve = await fleet.read("pod", "serve");
    await fleet.eventually("the service is a client", () => node.gpu()?.high.length === 1);
    expect(node.gpu()?.high[0]).toMatchObject({
      identity: { uid: 1000, pod: serve.metadata.uid },
      grant: "default/serve",
    });
    // From its node: its specification is as it was written.
    expect(serve.spec.containers[0]?.env).toBe(undefined);
    await fleet.eventually("its node says that it has missed nothing", async () => {
      const { status } = await fleet.read("gpunode", "node-1");
      return (
        status?.conditions.some(
          ({ type, reason }) => type === "Injecting" && reason === "AllInjected",
        ) === true
      );
    });
    await fleet.eventually("its node says so", async () => {
      const { status } = await fleet.read("gpunode", "node-1");
      return status?.gpus[0]?.podUid === serve.metadata.uid;
    });

    const job = loadPod(pods.bestEffort(), 2000, training);
    await fleet.create(pods.jobOf(job, "train"));
    await fleet.eventually("the training is a client", () => node.gpu()?.bestEffort.length === 1);
    const [train] = (await fleet.read("pods", "-l", "app=train")).items;
    if (!train) throw new Error("the Job has no pod");
    expect(node.gpu()?.bestEffort[0]).toMatchObject({
      name: train.metadata.name,
      identity: { uid: 2000, pod: train.metadata.uid },
      memoryQuota: 10 * GIB,
    });
    const held = () => node.gpu()?.bestEffort[0]?.heldSeconds ?? 0;
    await fleet.eventually("requests hold it", () => held() > 0);

    const done = () => node.gpu()?.bestEffort[0]?.finishedSeconds ?? 0;
    for (const some of [...parts.map((part) => [part]), parts]) {
      await Promise.all(some.map((part) => fleet.restart(part, node)));
      await fleet.eventually(`both are clients after the death of ${some.join(", ")}`, () => {
        const gpu = node.gpu();
        return gpu?.high[0]?.connected === true && gpu?.bestEffort[0]?.connected === true;
      });
      const before = done();
      await fleet.eventually("the training goes on", () => done() > before);
    }
    await fleet.eventually("the node is ready again", async () => {
      const { conditions } = (await fleet.read("node", "node-1")).status;
      return conditions.some(({ type, status }) => type === "Ready" && status === "True");
    });
    for (const name of ["serve", train.metadata.name]) {
      const [status] = (await fleet.read("pod", name)).status.containerStatuses ?? [];
      expect([name, status?.restartCount, status?.state.running !== undefined]).toEqual([
        name,
        0,
        true,
      ]);
    }

    await fleet.eventually("its Pairing says what it retains", async () => {
      const [pairing] = (await fleet.read("pairings")).items;
      const { retained = 0 } = pairing?.status?.measured ?? {};
      return (pairing?.spec.predicted.retained ?? 0) > 0 && retained > 0 && retained <= 1;
    });

    await fleet.eventually("the agent keeps to the share of its Pairing", async () => {
      const [pairing] = (await fleet.read("pairings")).items;
      const { shareBound, bestEffort } = node.gpu() ?? {};
      const from = `the Pairing default/${pairing?.metadata.name}`;
      return (
        shareBound?.from === from &&
        shareBound.share === pairing?.spec.share &&
        bestEffort?.[0]?.givenShare?.from === from
      );
    });

    // The service ends in order: its log says whether each request was served. Another pod gets its GPU.
    node.machine.run("kill", [String(node.gpu()?.high[0]?.pid)]);
    await fleet.create(pods.asObject(strangerPod));
    await fleet.eventually("best-effort work is held for the stranger", () => {
      return node.gpu()?.heldBecause?.includes("default/stranger") === true;
    });
    const { intact, requests, seconds, latencyUs } = JSON.parse(node.logOf(serve));
    // Each request that arrived by then was served, and the GPU did each kernel once.
    expect(intact).toBe(true);
    expect(requests).toBeGreaterThan((seconds - latencyUs.max / 1e6) * SERVED_PER_SECOND - 1);
    await fleet.eventually("its device has a taint", async () => {
      return (await taints()).some(({ value }) => value === "other");
    });
    await fleet.eventually("the training is evicted", async () => {
      const items = (await fleet.read("pods", "-l", "app=train")).items;
      return items.every((pod) => pod.metadata.uid !== train.metadata.uid);
    });
    await fleet.eventually("its share bounds nothing any more", () => {
      return node.gpu()?.shareBound === undefined;
    });
    await fleet.eventually("its claim is not prepared any more", () => {
      return readdirSync(join(node.machine.folder, "run/cdi")).length === 0;
    });
  });

  test("a GPU that is divided by MIG is refused, with a condition and an event that name it", async () => {
    const sentence = `${node.cotenant.gpu} is divided by MIG, which Cotenant does not share`;
    node.pretend({ divided: true });
    await fleet.eventually("the condition says so", async () => {
      const { status } = await fleet.read("gpunode", "node-1");
      return (
        status?.conditions.some(
          (one) =>
            one.type === "Shareable" && one.status === "False" && one.message.startsWith(sentence),
        ) === true
      );
    });
    await fleet.eventually("an event of the node says so", async () => {
      const about = "reason=GpuNotShareable,involvedObject.kind=Node,involvedObject.name=node-1";
      const { items } = await fleet.read("events", "--field-selector", about);
      return items.some(({ message }) => message.startsWith(sentence));
    });
    node.pretend({});
    await fleet.eventually("the node is shareable again", async () => {
      const { status } = await fleet.read("gpunode", "node-1");
      return status?.conditions[0]?.status === "True";
    });
  });

  test("a node part speaks of its own node alone", async () => {
    const api = connect(accessOf(fleet.cluster.server, join(node.machine.folder, "account")));
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
    await expect(
      api.create("/api/v1/namespaces/default/events", {
        ...{ apiVersion: "v1", kind: "Event", metadata: { name: "other", namespace: "default" } },
        involvedObject: { apiVersion: "v1", kind: "Node", name: "node-2" },
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
