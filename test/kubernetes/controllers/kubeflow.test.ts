// A PyTorchJob under Kubeflow's training operator, unmodified, from its own example.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { until } from "../cluster.ts";
import { conditionOf, managedCluster } from "../manager/managed.ts";
import * as pods from "../pods.ts";
import { startKubeflow } from "./kubeflow.ts";
import { isWanted, published } from "./published.ts";

describe.skipIf(!isWanted("Kubeflow"))("beside Kubeflow's training operator", () => {
  const { cluster, read, create, serve } = managedCluster(["a"]);
  let kubeflow: Awaited<ReturnType<typeof startKubeflow>> | undefined;
  beforeAll(async () => {
    kubeflow = await startKubeflow(cluster());
  });
  afterEach(async () => {
    await cluster().ask(["delete", "pytorchjobs", "--all"]);
  });
  afterAll(async () => kubeflow?.stop());

  test("the pod of a PyTorchJob waits for a place and gets it, and is made again after an eviction", async () => {
    const [job] = published("training", "examples/simple.yaml");
    if (job === undefined) throw new Error("simple.yaml holds no object.");
    job.metadata.namespace = "default";
    delete job.spec.pytorchReplicaSpecs.Worker;
    const { template } = job.spec.pytorchReplicaSpecs.Master;
    template.metadata = { annotations: pods.bestEffort().metadata.annotations };
    template.spec.priorityClassName = "cotenant-best-effort";
    template.spec.containers[0].resources = pods.container("pytorch").resources;
    await create(job);
    const pod = async () =>
      (await read("pods", "-l", "training.kubeflow.org/job-name=pytorch-simple")).items[0];
    await until("it says why it waits", [], async () => {
      const one = await pod();
      return one !== undefined && conditionOf(one)?.status === "False";
    });
    await serve("a");
    const isRunning = async () => (await pod())?.status.phase === "Running";
    await until("it runs", [], isRunning);
    const { metadata } = await pod();
    await cluster().ask(
      ["create", "--raw", `/api/v1/namespaces/default/pods/${metadata.name}/eviction`, "-f", "-"],
      { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: metadata.name } },
    );
    await until("another one runs", [], async () => {
      return (await pod())?.metadata.uid !== metadata.uid && (await isRunning());
    });
    const { conditions } = (await read("pytorchjob", "pytorch-simple")).status;
    expect(conditions.find(({ type }: { type: string }) => type === "Failed")).toBeUndefined();
    expect((await read("resourceclaims")).items).toHaveLength(1);
  });
});
