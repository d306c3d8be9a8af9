// A cluster in which pods are created beside Cotenant's webhook and policies.
import { afterAll, expect } from "vitest";
import { type Cluster, type Output, until } from "../cluster.ts";
import { installCotenant } from "../cotenant.ts";
import { clusterHere } from "../here.ts";
import { addNodes } from "../nodes.ts";
import * as pods from "../pods.ts";
import { installWebhook, type Webhook } from "../webhook.ts";

const namespaces: readonly (readonly [string, string])[] = [
  ["left-out", "cotenant.io/excluded=yes"],
  ["privileged", "pod-security.kubernetes.io/enforce=privileged"],
  ["privileged-left-out", "pod-security.kubernetes.io/enforce=privileged"],
  ["privileged-by-nodes", "pod-security.kubernetes.io/enforce=privileged"],
];

export interface AdmittingCluster {
  cluster(): Cluster;
  webhook(): Webhook | undefined;
  /** The pod as the API server would store it: everything but storing it is done. */
  tryPod(pod: pods.Pod, namespace?: string): Promise<Output>;
  /** The same, of a pod that is taken without a warning. */
  admitted(pod: pods.Pod, namespace?: string): Promise<pods.Pod>;
}

/** For all tests of a file. */
export function admittingCluster(): AdmittingCluster {
  let webhook: Webhook | undefined;
  const tryPodIn = (asked: Cluster, pod: pods.Pod, namespace: string) =>
    asked.kubectl(
      ["create", "--dry-run=server", "-n", namespace, "-f", "-", "-o", "json"],
      pods.asObject(pod),
    );
  const cluster = clusterHere(async (started) => {
    await addNodes(started, ["a"], { gpus: 2 });
    await addNamespaces(started);
    await installCotenant(started);
    webhook = await installWebhook(started);
    // A moment passes until the API server heeds new policies.
    const unowned = pods.bestEffort();
    delete unowned.metadata.ownerReferences;
    await until("the policies are in force", [], async () => {
      return (await tryPodIn(started, unowned, "default")).status !== 0;
    });
  });
  afterAll(async () => webhook?.stop());
  const tryPod: AdmittingCluster["tryPod"] = (pod, namespace = "default") =>
    tryPodIn(cluster(), pod, namespace);
  return {
    ...{ cluster, tryPod, webhook: () => webhook },
    async admitted(pod, namespace) {
      const { status, stdout, stderr } = await tryPod(pod, namespace);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      return JSON.parse(stdout);
    },
  };
}

async function addNamespaces(cluster: Cluster): Promise<void> {
  for (const [name, label] of namespaces) {
    await cluster.ask(["create", "namespace", name]);
    await cluster.ask(["label", "namespace", name, label]);
    await cluster.ask([
      ...["wait", "--for=create", "--timeout=300s", "serviceaccount/default", "-n", name],
    ]);
  }
  await cluster.ask(["label", "namespace", "privileged-left-out", "cotenant.io/excluded=yes"]);
  await cluster.ask(["label", "namespace", "privileged-by-nodes", "cotenant.io/inject=node"]);
  await cluster.ask(["create", "-f", "-"], {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name: "low-but-preempting" },
    value: -5,
  });
}
