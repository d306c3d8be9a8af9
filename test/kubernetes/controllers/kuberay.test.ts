// Services and clusters of Ray under KubeRay, unmodified, from its own samples: each worker is a pod with a class.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { until } from "../cluster.ts";
import { conditionOf, managedCluster } from "../manager/managed.ts";
import * as pods from "../pods.ts";
import { sample, startKuberay } from "./kuberay.ts";
import { isWanted } from "./published.ts";

describe.skipIf(!isWanted("KubeRay"))("beside KubeRay", () => {
  const { cluster, read, create, isScheduled, serve, observe } = managedCluster(["a"]);
  let kuberay: Awaited<ReturnType<typeof startKuberay>> | undefined;
  beforeAll(async () => {
    kuberay = await startKuberay(cluster());
  });
  afterEach(async () => {
    await cluster().ask(["delete", "rayservices,rayclusters", "--all"]);
  });
  afterAll(async () => kuberay?.stop());

  const podsOfType = async (type: "head" | "worker") =>
    (await read("pods", "-l", `ray.io/node-type=${type}`)).items;
  const isRunning = async () => (await podsOfType("worker"))[0]?.status.phase === "Running";

  test("the worker of a service is protected, and a Job comes beside it", async () => {
    const service = sample("ray-service.stable-diffusion");
    const [group] = service.spec.rayClusterConfig.workerGroupSpecs;
    group.template.metadata = { annotations: pods.high().metadata.annotations };
    // The webhook brings the library only where pods may mount folders of their node.
    const level = "pod-security.kubernetes.io/enforce=privileged";
    await cluster().ask(["label", "namespace", "default", level]);
    await create(service);
    await until("its worker runs", [], isRunning);
    const [worker] = await podsOfType("worker");
    const [main] = worker.spec.containers;
    expect(main.env).toContainEqual({ name: "COTENANT_CLASS", value: "high" });
    expect(main.resources.limits["nvidia.com/gpu"]).toBe("1");
    const [wait] = worker.spec.initContainers;
    for (const other of [wait, (await podsOfType("head"))[0].spec.containers[0]])
      expect(JSON.stringify(other)).not.toContain("cotenant");
    await observe("a", { podUid: worker.metadata.uid });
    await create(pods.jobOf(pods.bestEffort(), "beside"));
    await isScheduled("beside");
  });

  test("a best-effort worker waits for a place and gets it, and so does the one that replaces it", async () => {
    const ray = sample("ray-cluster.sample");
    const [group] = ray.spec.workerGroupSpecs;
    group.rayStartParams = { "num-gpus": "1" };
    group.template.metadata = { annotations: pods.bestEffort().metadata.annotations };
    group.template.spec.priorityClassName = "cotenant-best-effort";
    await create(ray);
    await until("its worker says why it waits", [], async () => {
      const [worker] = await podsOfType("worker");
      return worker !== undefined && conditionOf(worker)?.status === "False";
    });
    await serve("a");
    await until("it runs", [], isRunning);
    const [first] = await podsOfType("worker");
    expect(JSON.stringify(first.spec.containers[0].args)).toContain("--num-gpus=1");
    expect(first.spec.nodeName).toBe("a");
    await cluster().ask(["delete", "pod", first.metadata.name]);
    await until("another one runs", [], async () => {
      const [worker] = await podsOfType("worker");
      return worker?.metadata.uid !== first.metadata.uid && worker?.status.phase === "Running";
    });
    expect((await read("resourceclaims")).items).toHaveLength(1);
  });
});
