// The manager does no harm to services, and no pod does any to others.
import { describe, expect, test } from "vitest";
import { until } from "../cluster.ts";
import { whyNot } from "../here.ts";
import * as pods from "../pods.ts";
import { startSlowServer } from "../slow.ts";
import { conditionOf, GIB, managedCluster } from "./managed.ts";

const why = whyNot();
if (why !== undefined)
  console.error(`SKIPPED: tests of harm that the manager avoids, because ${why}`);

describe.skipIf(why !== undefined)("the manager", () => {
  const managed = managedCluster();
  const { cluster, read, create, podsOf, isScheduled, serve, reportedOn, observe } = managed;

  const withMemory = (memory: string, movable = false) => {
    const pod = pods.bestEffort();
    pod.metadata.annotations = {
      ...pod.metadata.annotations,
      "cotenant.io/memory": memory,
      "cotenant.io/movable": String(movable),
    };
    return pod;
  };
  const messageOf = async (job: string) =>
    conditionOf((await podsOf(job))[0] ?? { status: {} })?.message ?? "";

  test("keeps pods from a service that loads, and takes them as soon as its memory is known", async () => {
    const unstated = ({ metadata }: pods.Pod) => {
      delete metadata.annotations?.["cotenant.io/memory"];
    };
    await serve("a", { starting: true, serviceBytes: 0 }, unstated);
    await serve("b", { starting: true, memoryBytes: 60 * GIB });
    await create(pods.jobOf(withMemory("30Gi"), "loading"));
    await until("it is told why it waits", [], async () =>
      (await messageOf("loading")).startsWith(
        "No GPU has a place: 2 have services that are starting",
      ),
    );
    // It serves, and what it states is reserved for it.
    await observe("b", { ...reportedOn("b"), starting: false, slots: 1 });
    await isScheduled("loading");
    expect((await podsOf("loading"))[0].spec.nodeName).toBe("b");
    // One whose memory nobody knows is not taken for one that has it all.
    await observe("a", { ...reportedOn("a"), starting: false });
    await create(pods.jobOf(withMemory("35Gi"), "second"));
    await until("it is told why it waits", [], async () =>
      (await messageOf("second")).includes("1 have services that are starting"),
    );
  });

  test("lets a pod with a gate of somebody else wait with a reason, and takes others meanwhile", async () => {
    await serve("a", { slots: 1 });
    await serve("b", { slots: 1 });
    const queued = pods.bestEffort();
    queued.spec.schedulingGates = [{ name: "example.org/quota" }];
    await create(pods.jobOf(queued, "queued"));
    await create(pods.jobOf(pods.bestEffort(), "others", 2));
    await isScheduled("others");
    await until("it is told why it waits", [], async () =>
      (await messageOf("queued")).includes("the scheduling gates example.org/quota"),
    );
    await cluster().ask(["delete", "job", "others", "--wait=true"]);
    const [{ metadata, spec }] = await podsOf("queued");
    const schedulingGates = spec.schedulingGates.filter(
      ({ name }: { name: string }) => name !== "example.org/quota",
    );
    const patch = [{ op: "replace", path: "/spec/schedulingGates", value: schedulingGates }];
    await cluster().ask([
      "patch",
      "pod",
      metadata.name,
      "--type=json",
      "-p",
      JSON.stringify(patch),
    ]);
    await isScheduled("queued");
  });

  test("has no pods whose controller somebody has invented", async () => {
    await cluster().ask(["create", "rolebinding", "edits", "--clusterrole=edit", "--user=tenant"]);
    const pod = pods.bestEffort();
    const [owner] = pod.metadata.ownerReferences ?? [];
    pod.metadata.ownerReferences = [{ ...owner, apiVersion: "example.org/v1", kind: "Policy" }];
    const { status, stderr } = await cluster().kubectl(
      ["create", "-f", "-", "--as=tenant"],
      pods.asObject(pod),
    );
    expect(status).not.toBe(0);
    expect(stderr).toContain(
      "The best-effort pod train names the controller example.org/v1 Policy train, which tenant may not change: create it by a Job or another controller.",
    );
    await cluster().ask(["delete", "rolebinding", "edits"]);
  });

  test("takes a pod to the node of its volume, without any eviction before", async () => {
    await serve("a", { activeShare: 0.1 });
    await serve("b", { activeShare: 0.6 });
    const at = { key: "kubernetes.io/hostname", operator: "In", values: ["b"] };
    await create({
      ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name: "checkpoints" } },
      spec: {
        ...{ capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] },
        ...{ storageClassName: "manual", hostPath: { path: "/tmp" } },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [at] }] } },
      },
    });
    const pod = pods.bestEffort();
    pod.spec.volumes = [{ name: "kept", persistentVolumeClaim: { claimName: "checkpoints" } }];
    await create(pods.jobOf(pod, "kept"));
    await until("it is told that its claim is missing", [], async () =>
      (await messageOf("kept")).startsWith("There is no PersistentVolumeClaim checkpoints"),
    );
    const [{ metadata }] = await podsOf("kept");
    await create({
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "checkpoints" } },
      spec: {
        ...{ accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        ...{ storageClassName: "manual", volumeName: "checkpoints" },
      },
    });
    await isScheduled("kept");
    const [then] = await podsOf("kept");
    expect([then.metadata.uid, then.spec.nodeName]).toEqual([metadata.uid, "b"]);
    // Kubernetes counts no eviction of such a Job as a failure.
    expect((await read("job", "kept")).spec.podFailurePolicy.rules[0]).toMatchObject({
      ...{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] },
    });
    await cluster().ask(["delete", "job", "kept", "--wait=true"]);
    await cluster().ask(["delete", "pvc,pv", "checkpoints"]);
  });

  test("drains pods although the first of them may not be evicted", async () => {
    await serve("a");
    await create(pods.jobOf(pods.bestEffort(), "budget"));
    await isScheduled("budget");
    await create(pods.jobOf(pods.bestEffort(), "free"));
    await isScheduled("free");
    await create({
      ...{ apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "budget" } },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "budget" } } },
    });
    await cluster().ask([
      ...["wait", "--for=jsonpath={.status.currentHealthy}=1", "--timeout=300s", "pdb/budget"],
    ]);
    const [before] = await podsOf("budget");
    const [other] = await podsOf("free");
    await create({
      ...{
        apiVersion: "cotenant.io/v1alpha1",
        kind: "SharingPolicy",
        metadata: { name: "default" },
      },
      spec: { drain: true, evictionsPerMinute: 1 },
    });
    await until("the other is evicted", [], async () => {
      return (await podsOf("free"))[0]?.metadata.uid !== other.metadata.uid;
    });
    expect((await podsOf("budget"))[0].metadata.uid).toBe(before.metadata.uid);
    await cluster().ask(["delete", "sharingpolicy,pdb", "--all"]);
  });

  test("evicts a pod whose memory a service takes, unless it can be parked", async () => {
    await serve("a", { memoryBytes: 22 * GIB });
    const jobs = ["stays-in-memory", "parked"];
    for (const job of jobs) {
      await create(pods.jobOf(withMemory("10Gi", job === "parked"), job));
      await isScheduled(job);
    }
    const uids = () =>
      Promise.all(jobs.map(async (job) => (await podsOf(job))[0]?.metadata.uid as string));
    const before = await uids();
    await observe("a", { ...reportedOn("a"), memoryBytes: 12 * GIB });
    // Half a minute, in which the service may have changed its mind.
    await until("one is evicted", [], async () => (await uids())[0] !== before[0]);
    expect((await uids())[1]).toBe(before[1]);
    const { items } = await read("events", "--field-selector", "reason=ServiceGrew");
    expect(items.map((one: { involvedObject: object }) => one.involvedObject)).toMatchObject([
      { uid: before[0] },
    ]);
  });

  test("evicts a pod that is measured to slow its service, and brings none like it beside it again", async () => {
    // The agent of its node keeps to an objective.
    const withoutObjective = (pod: pods.Pod) => {
      delete pod.metadata.annotations?.["cotenant.io/objective"];
    };
    await serve("a", {}, withoutObjective);
    await serve("b", {}, withoutObjective);
    await create(pods.jobOf(pods.bestEffort(), "slows"));
    await isScheduled("slows");
    const [{ metadata, spec }] = await podsOf("slows");
    const claim = spec.resourceClaims[0].resourceClaimName;
    await until("its Pairing is there", [], async () =>
      (await read("pairings")).items.some(
        (one: { metadata: { name: string } }) => one.metadata.name === claim,
      ),
    );
    // A measurement counts that is newer than the manager's knowledge of who shares the GPU.
    const measure = () => {
      const measured = { retained: 0.9, slowdown: 2.4, at: new Date().toISOString() };
      const patch = ["patch", "pairing", claim, "--subresource=status", "--type=merge"];
      return cluster().kubectl([...patch, "-p", JSON.stringify({ status: { measured } })]);
    };
    await until("it is evicted", [], async () => {
      await measure();
      const [now] = await podsOf("slows");
      return now !== undefined && now.metadata.uid !== metadata.uid;
    });
    await isScheduled("slows");
    const [next] = await podsOf("slows");
    expect(next.spec.nodeName).toBe(spec.nodeName === "a" ? "b" : "a");
    const { items } = await read("events", "--field-selector", "reason=ServiceSlowed");
    expect(items).toMatchObject([
      { message: expect.stringContaining("took 2.40 times as long beside it") },
    ]);
  });

  test("knows after a restart how much memory a service has had of which no pod is left", async () => {
    const engine = (pod: pods.Pod) => {
      delete pod.metadata.annotations?.["cotenant.io/memory"];
      pod.spec.containers = pod.spec.containers.map((one) => ({ ...one, image: "engine:7" }));
    };
    const policy = { apiVersion: "cotenant.io/v1alpha1", kind: "SharingPolicy" };
    await create({ ...policy, metadata: { name: "default" }, spec: { serviceAgeSeconds: 0 } });
    await serve("a", { memoryBytes: 5 * GIB, serviceBytes: 60 * GIB }, engine);
    const known = async () =>
      (await read("configmap", "cotenant-service-memory", "-n", "cotenant-system")).data ?? {};
    // An interval later the manager has seen it.
    await create(pods.jobOf(withMemory("30Gi"), "large"));
    await until("it is told why it waits", [], async () => (await messageOf("large")) !== "");
    await managed.stopManager();
    expect(JSON.stringify(await known())).toContain(",61440]");
    await cluster().ask(["delete", "jobs,pods", "--all", "--wait=true"]);
    await cluster().ask(["delete", "sharingpolicy", "default"]);
    await managed.startManager();
    // Its next pod has loaded a GiB. What it will have leaves 16 GiB.
    await serve("a", { memoryBytes: 75 * GIB, serviceBytes: GIB }, engine);
    await create(pods.jobOf(withMemory("17Gi"), "large"));
    await create(pods.jobOf(withMemory("15Gi"), "small"));
    await isScheduled("small");
    await until("it is told why it waits", [], async () =>
      (await messageOf("large")).includes("less memory left"),
    );
  });

  test("goes on deciding while the API server takes three seconds to answer, and reports when it can't", async () => {
    await managed.stopManager();
    const slow = await startSlowServer(cluster().server);
    await managed.startManager(slow.url);
    await serve("a");
    await until("it decides", [], async () => managed.managerLog().includes("decides from now on"));
    slow.delay(3000);
    await create(pods.jobOf(pods.bestEffort(), "slowly"));
    await isScheduled("slowly");
    expect(managed.managerLog()).not.toContain("decides no more");
    // Longer than a renewal may take.
    slow.delay(11_000);
    await until("it decides no more", [], async () =>
      managed.managerLog().includes("decides no more"),
    );
    expect(managed.managerLog()).toContain("decides no more: it could not renew its Lease in time");
    await managed.stopManager();
    await slow.stop();
    await managed.startManager();
  });
});
