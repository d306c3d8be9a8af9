// Best-effort Jobs in the queues of Kueue, unmodified: Kueue says when a Job may begin, and Cotenant where it runs.
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { until } from "../cluster.ts";
import { conditionOf, managedCluster } from "../manager/managed.ts";
import * as pods from "../pods.ts";
import { type Kueue, type Settings, startKueue } from "./kueue.ts";
import { isWanted } from "./published.ts";

const QUEUE = "kueue.x-k8s.io/queue-name";

const queued = (object: { metadata: { name: string; labels?: object } }, more: object = {}) => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, [QUEUE]: "team", ...more } },
});

describe.skipIf(!isWanted("Kueue"))("beside Kueue", () => {
  const { cluster, read, create, podsOf, isScheduled, serve, observe } = managedCluster(["a"]);
  let kueue: Kueue | undefined;

  /** A queue whose pods may ask for `cpus` in all. */
  async function queueOf(cpus: number, settings: Settings = {}): Promise<void> {
    await kueue?.stop();
    kueue = await startKueue(cluster(), settings);
    const version = "kueue.x-k8s.io/v1beta2";
    const quotas = [
      { name: "cpu", nominalQuota: String(cpus) },
      { name: "memory", nominalQuota: "100Gi" },
    ];
    for (const object of [
      { apiVersion: version, kind: "ResourceFlavor", metadata: { name: "any" } },
      {
        ...{ apiVersion: version, kind: "ClusterQueue", metadata: { name: "cluster" } },
        spec: {
          namespaceSelector: {},
          preemption: { withinClusterQueue: "LowerPriority" },
          resourceGroups: [
            { coveredResources: ["cpu", "memory"], flavors: [{ name: "any", resources: quotas }] },
          ],
        },
      },
      {
        ...{ apiVersion: version, kind: "LocalQueue", metadata: { name: "team" } },
        spec: { clusterQueue: "cluster" },
      },
    ])
      await cluster().ask(["apply", "-f", "-"], object);
  }

  afterEach(async () => {
    await cluster().ask(["delete", "deployments", "--all"]);
  });
  afterAll(async () => kueue?.stop());

  const isSuspended = async (name: string): Promise<boolean> =>
    (await read("job", name)).spec.suspend === true;

  test("a Job beyond the quota has no pods, and runs when one before it has ended", async () => {
    await queueOf(1);
    await serve("a");
    await create(queued(pods.jobOf(pods.bestEffort(), "first")));
    await isScheduled("first");
    await create(queued(pods.jobOf(pods.bestEffort(), "second")));
    await until("Kueue has looked at it", [], async () =>
      JSON.stringify((await read("workloads.kueue.x-k8s.io")).items).includes("QuotaReserved"),
    );
    expect(await isSuspended("second")).toBe(true);
    expect(await podsOf("second")).toEqual([]);
    await cluster().ask(["delete", "job", "first"]);
    await isScheduled("second");
    expect((await podsOf("second"))[0].spec.nodeName).toBe("a");
  });

  test("a Job that Kueue preempts gives its place back", async () => {
    await queueOf(1);
    await serve("a", { slots: 1 });
    await cluster().ask(["apply", "-f", "-"], {
      ...{ apiVersion: "kueue.x-k8s.io/v1beta2", kind: "WorkloadPriorityClass" },
      ...{ metadata: { name: "urgent" }, value: 100, description: "before others" },
    });
    await create(queued(pods.jobOf(pods.bestEffort(), "patient")));
    await isScheduled("patient");
    const urgent = { "kueue.x-k8s.io/priority-class": "urgent" };
    await create(queued(pods.jobOf(pods.bestEffort(), "urgent"), urgent));
    await isScheduled("urgent");
    expect(await isSuspended("patient")).toBe(true);
    expect((await read("resourceclaims")).items).toHaveLength(1);
    await cluster().ask(["delete", "job", "urgent"]);
    await isScheduled("patient");
  });

  test("pods of a Deployment that Kueue has not admitted wait for it, and take no place", async () => {
    await queueOf(1);
    await serve("a", { slots: 1 });
    await create(queued(pods.controllerOf("Deployment", pods.bestEffort(), "first")));
    await isScheduled("first");
    await create(queued(pods.controllerOf("Deployment", pods.bestEffort(), "second")));
    const reason = async () =>
      JSON.stringify(conditionOf((await podsOf("second"))[0] ?? { status: {} }) ?? {});
    await until("its pod says why it waits", [], async () =>
      (await reason()).includes("kueue.x-k8s.io/admission"),
    );
    await cluster().ask(["delete", "deployment", "first"]);
    await isScheduled("second");
  });

  test("a Job that Kueue gives up because no GPU is free is matched when it comes again", async () => {
    await observe("a", { healthy: false });
    await queueOf(1, {
      waitForPodsReady: {
        timeout: "5s",
        requeuingStrategy: { backoffBaseSeconds: 1, backoffMaxSeconds: 1 },
      },
    });
    await create(queued(pods.jobOf(pods.bestEffort(), "job")));
    await until("Kueue has taken it back", [], async () =>
      JSON.stringify((await read("workloads.kueue.x-k8s.io")).items).includes("PodsReadyTimeout"),
    );
    expect((await read("resourceclaims")).items).toEqual([]);
    await serve("a");
    await isScheduled("job");
  });
});
