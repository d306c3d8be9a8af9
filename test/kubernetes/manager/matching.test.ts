// Best-effort pods are matched with GPUs by the manager, and scheduled there by Kubernetes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../cluster.ts";
import { simulated } from "../cotenant.ts";
import { whyNot } from "../here.ts";
import * as pods from "../pods.ts";
import { conditionOf, GIB, managedCluster } from "./managed.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests of the manager, because ${why}`);

interface Event {
  readonly message: string;
  readonly involvedObject: { readonly uid: string };
}

describe.skipIf(why !== undefined)("the manager", () => {
  const {
    cluster,
    read,
    create,
    podsOf,
    isScheduled,
    serve,
    observe,
    reportedOn,
    stopManager,
    startManager,
  } = managedCluster();

  test("takes pods to GPUs of services, first to those that leave most of it", async () => {
    await serve("a", { activeShare: 0.6 });
    await serve("b", { activeShare: 0.1 });
    await create(pods.jobOf(pods.bestEffort(), "first"));
    await isScheduled("first");
    const [pod] = await podsOf("first");
    expect(pod.spec.nodeName).toBe("b");
    expect(pod.spec.schedulingGates ?? []).toEqual([]);
    const claim = await read("resourceclaim", pod.spec.resourceClaims[0].resourceClaimName);
    expect(claim.metadata.ownerReferences[0].uid).toBe(pod.metadata.uid);
    expect(claim.status.allocation.devices.results).toMatchObject([
      { device: "gpu-0", pool: "b", consumedCapacity: { slots: "1", memory: `${10 * GIB}` } },
    ]);
  });

  test("gives a GPU as many pods as it has slots, and memory", async () => {
    await serve("a", { slots: 2, memoryBytes: 25 * GIB });
    const large = pods.bestEffort();
    large.metadata.annotations = { ...large.metadata.annotations, "cotenant.io/memory": "30Gi" };
    await create(pods.jobOf(large, "large"));
    await create(pods.jobOf(pods.bestEffort(), "small", 3));
    const running = async () =>
      (await podsOf("small")).filter(
        ({ status }: { status: { phase: string } }) => status.phase === "Running",
      );
    await until("two small pods run", [], async () => (await running()).length === 2);
    const [waiting] = await podsOf("large");
    expect(waiting.spec.schedulingGates).toEqual([{ name: "cotenant.io/match" }]);
    // The third comes when one of them has gone, and not before.
    const gone = (await running())[0].metadata.name;
    expect(await running()).toHaveLength(2);
    await cluster().ask(["delete", "pod", gone]);
    await until("the place is taken again", [], async () => {
      const names = (await running()).map((pod: pods.Pod) => pod.metadata.name);
      return names.length === 2 && !names.includes(gone);
    });
  });

  test("leaves pods waiting while no service has the GPU", async () => {
    await observe("a", { podUid: "3f0a4b52-7b0c-4a57-9d4c-64a3a1e4d7d5" });
    await serve("b");
    const elsewhere = pods.bestEffort();
    elsewhere.spec.nodeSelector = { "kubernetes.io/hostname": "a" };
    await create(pods.jobOf(elsewhere, "elsewhere"));
    // The manager has looked at both when the second runs.
    await create(pods.jobOf(pods.bestEffort(), "here"));
    await isScheduled("here");
    const [pod] = await podsOf("elsewhere");
    expect(pod.spec.schedulingGates).toEqual([{ name: "cotenant.io/match" }]);
    await serve("a");
    await isScheduled("elsewhere");
  });

  test("gives up a claim that the scheduler does not allocate, and evicts the pod with an event", async () => {
    await serve("a");
    const pod = pods.bestEffort();
    // The manager leaves places of other pods to the scheduler.
    const term = { labelSelector: { matchLabels: { app: "nobody" } }, topologyKey: "zone" };
    pod.spec.affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    await create(pods.jobOf(pod, "lonely"));
    await until("there is a pod", [], async () => (await podsOf("lonely")).length === 1);
    const [first] = await podsOf("lonely");
    await until("it is replaced", [], async () => {
      const names = (await podsOf("lonely")).map((one: pods.Pod) => one.metadata.name);
      return names.length === 1 && names[0] !== first.metadata.name;
    });
    const claim = first.spec.resourceClaims[0].resourceClaimName;
    expect((await cluster().kubectl(["get", "resourceclaim", claim])).status).not.toBe(0);
    const events = await cluster().ask(["get", "events", "-o", "json"]);
    expect(events).toContain("The pod was matched with a GPU of the node a, but the scheduler");
    // The replacement is told why it is not taken to the same node at once.
    const why = async () => JSON.stringify(conditionOf((await podsOf("lonely"))[0]) ?? {});
    await until("the replacement is told why it waits", [], async () => {
      return (await why()).includes("of the same controller");
    });
  });

  test("learns without a profile what a workload retains beside a service, from the first pod of it", async () => {
    await serve("a", { activeShare: 0.1 });
    await serve("b", { activeShare: 0.3, slots: 0 });
    const first = pods.bestEffort();
    first.spec.containers = [{ ...pods.container("main"), image: "learned" }];
    await create(pods.jobOf(first, "learned-first"));
    await isScheduled("learned-first");
    const pairing = async () => (await read("pairings")).items[0];
    await until("there is a Pairing", [], async () => (await pairing()) !== undefined);
    const status = { measured: { retained: 0.2, at: new Date().toISOString() } };
    await cluster().ask([
      ...["patch", "pairing", (await pairing()).metadata.name, "--subresource=status"],
      ...["--type=merge", "-p", JSON.stringify({ status })],
    ]);
    // When its share has followed the load twice, the manager has planned with what was measured.
    for (const activeShare of [0.5, 0.1]) {
      await observe("a", { ...reportedOn("a"), activeShare });
      await until("the share follows", [], async () => {
        return Math.abs((await pairing()).spec.share - (1 - activeShare)) < 0.05;
      });
    }
    await cluster().ask(["delete", "job", "learned-first", "--wait=true"]);
    await observe("b", { ...reportedOn("b"), slots: 2 });
    const nodeFor = async (name: string, image: string) => {
      const pod = pods.bestEffort();
      pod.spec.containers = [{ ...pods.container("main"), image }];
      await create(pods.jobOf(pod, name));
      await isScheduled(name);
      return (await podsOf(name))[0].spec.nodeName;
    };
    expect(await nodeFor("another", "unknown")).toBe("a");
    await cluster().ask(["delete", "job", "another", "--wait=true"]);
    expect(await nodeFor("learned-next", "learned")).toBe("b");
  });

  test("moves a pod that says what it costs to a GPU where it retains more, and no other pod", async () => {
    await create({
      ...{ apiVersion: "cotenant.io/v1alpha1", kind: "SharingPolicy" },
      ...{ metadata: { name: "default" }, spec: { moveAfterSeconds: 1 } },
    });
    await serve("a", { activeShare: 0.3 });
    const movable = pods.bestEffort();
    movable.metadata.annotations = {
      ...movable.metadata.annotations,
      "cotenant.io/move-cost": "1s",
    };
    await create(pods.jobOf(pods.bestEffort(), "settled"));
    await create(pods.jobOf(movable, "moved"));
    await isScheduled("settled");
    await isScheduled("moved");
    const [before] = await podsOf("moved");
    const [other] = await podsOf("settled");
    await observe("a", { ...reportedOn("a"), activeShare: 0.9 });
    await serve("b", { activeShare: 0.1 });
    await until("its next pod runs on the other node", [], async () => {
      const [pod] = await podsOf("moved");
      return pod?.spec.nodeName === "b" && pod.status.phase === "Running";
    });
    const events = await read("events", "--field-selector", "reason=Moved");
    expect(
      events.items.map(({ message, involvedObject }: Event) => [involvedObject.uid, message]),
    ).toEqual([
      [
        before.metadata.uid,
        "It retains 5 % of its throughput on the GPU GPU-a, and is expected to retain 90 % on GPU-b of the node b: it is evicted, and its next pod begins there.",
      ],
    ]);
    const [left] = await podsOf("settled");
    expect(left.metadata.uid).toBe(other.metadata.uid);
    await cluster().ask(["delete", "sharingpolicy", "default"]);
  });

  test("is exported as a scenario that the simulator runs", async () => {
    await serve("a", { activeShare: 0.3 });
    await create(pods.jobOf(pods.bestEffort(), "exported", 3));
    await until("there are pods", [], async () => (await podsOf("exported")).length === 3);
    const folder = join(cluster().folder, "exported");
    const { status, stderr } = await simulated(cluster(), ["--from-cluster", "--export", folder]);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const scenario = JSON.parse(readFileSync(join(folder, "scenario.json"), "utf8"));
    expect(scenario).toMatchObject({
      gpus: [{ type: "none", count: 2, memoryGB: 40 }],
      services: [{ gpus: 1, load: { low: 0.3, high: 0.3 } }],
    });
    expect(scenario.about).toContain("2 workloads have no WorkloadProfile");
    const { stdout } = await simulated(cluster(), [
      ...[join(folder, "scenario.json"), "--scheduler", "cotenant", "--json"],
    ]);
    expect(JSON.parse(stdout).figures).toHaveLength(1);
    const at = await simulated(cluster(), ["--from-cluster", "--json"]);
    const ended = JSON.parse(at.stdout).figures.map(
      ({ scheduler, finished }: { scheduler: string; finished: number }) => [scheduler, finished],
    );
    expect(ended).toEqual([
      ["online-only", 0],
      ["muxflow", 3],
      ["cotenant", 3],
      ["manager", 3],
    ]);
  });

  test("goes on where it was stopped", async () => {
    await serve("a");
    await stopManager();
    await create(pods.jobOf(pods.bestEffort(), "later"));
    await until("there is a pod", [], async () => (await podsOf("later")).length === 1);
    const [pod] = await podsOf("later");
    // As a manager leaves it that ends between its two writes.
    await create(
      {
        apiVersion: "resource.k8s.io/v1",
        kind: "ResourceClaim",
        metadata: {
          name: pod.spec.resourceClaims[0].resourceClaimName,
          annotations: {
            "cotenant.io/gpu": "GPU-a",
            "cotenant.io/node": "a",
            "cotenant.io/memory": "10Gi",
            "cotenant.io/matched-at": new Date().toISOString(),
          },
          ownerReferences: [
            { apiVersion: "v1", kind: "Pod", name: pod.metadata.name, uid: pod.metadata.uid },
          ],
        },
        spec: {
          devices: {
            requests: [
              {
                name: "cotenant",
                exactly: {
                  deviceClassName: "cotenant.io",
                  capacity: { requests: { slots: "1", memory: "10Gi" } },
                },
              },
            ],
          },
        },
      },
      "--as=system:serviceaccount:cotenant-system:cotenant-manager",
    );
    await startManager();
    await isScheduled("later");
    expect((await podsOf("later"))[0].spec.nodeName).toBe("a");
  });

  test("is the only one who makes claims for parts of GPUs", async () => {
    const claim = {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name: "mine" },
      spec: {
        devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "cotenant.io" } }] },
      },
    };
    const { status, stderr } = await cluster().kubectl(["create", "-f", "-"], claim);
    expect(status).not.toBe(0);
    expect(stderr).toContain(
      "Claims of the device class cotenant.io are made by Cotenant's manager alone: create a pod with the annotation cotenant.io/class instead.",
    );
  });
});
