// Best-effort pods are matched with GPUs by the manager, and scheduled there by Kubernetes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { type Agents, asAdministrator, startAgents } from "./agents.ts";
import { until } from "./cluster.ts";
import { cotenantCluster, installCotenant, simulated } from "./cotenant.ts";
import { clusterHere, whyNot } from "./here.ts";
import { type Manager, startManager } from "./manager.ts";
import { addNodes } from "./nodes.ts";
import * as pods from "./pods.ts";
import { installWebhook, type Webhook } from "./webhook.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests of the manager, because ${why}`);

const GIB = 2 ** 30;

interface Conditions {
  readonly status: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

interface Event {
  readonly message: string;
  readonly involvedObject: { readonly uid: string };
}

const conditionOf = ({ status }: Conditions) =>
  status.conditions?.find(({ type }) => type === "cotenant.io/Matched");

describe.skipIf(why !== undefined)("the manager", () => {
  let webhook: Webhook | undefined;
  let manager: Manager | undefined;
  let agents: Agents | undefined;
  const cluster = clusterHere(async (started) => {
    await installCotenant(started);
    webhook = await installWebhook(started);
    await addNodes(started, ["a", "b"], { gpus: 1 });
    agents = await startAgents(
      asAdministrator(started),
      new Map(["a", "b"].map((node) => [node, [`GPU-${node}`]])),
    );
    manager = await startManager(started);
  });
  afterAll(async () => {
    agents?.stop();
    await manager?.stop();
    await webhook?.stop();
  });

  const read = async (...args: string[]) =>
    JSON.parse(await cluster().ask(["get", ...args, "-o", "json"]));
  const create = (object: object, ...args: string[]) =>
    cluster().ask(["create", "-f", "-", ...args], object);
  const podsOf = async (job: string) => (await read("pods", "-l", `app=${job}`)).items;
  const isScheduled = async (job: string) => {
    await until("there is a pod", [], async () => (await podsOf(job)).length > 0);
    return cluster().ask([
      ...["wait", "--for=jsonpath={.status.phase}=Running", "--timeout=300s"],
      ...["pods", "-l", `app=${job}`],
    ]);
  };

  /** Starts a service on a node and says what its agent observes. Returns what the agent said last. */
  async function serve(node: string, observed: object = {}): Promise<void> {
    const name = `serve-${node}`;
    const pod = pods.high();
    pod.metadata.name = name;
    pod.spec.nodeSelector = { "kubernetes.io/hostname": node };
    await create(pods.asObject(pod));
    await cluster().ask(["wait", "--for=condition=Ready", "--timeout=300s", `pod/${name}`]);
    const { metadata } = await read("pod", name);
    await observe(node, { podUid: metadata.uid, ...observed });
  }

  const observe = async (node: string, observed: object): Promise<void> =>
    agents?.observe(node, [
      {
        ...{ uuid: `GPU-${node}`, model: "none", healthy: true, slots: 2 },
        ...{ memoryBytes: 40 * GIB, activeShare: 0.3, ...observed },
      },
    ]);

  beforeEach(async () => {
    await cluster().ask(["delete", "jobs,pods", "--all", "--wait=true"]);
    await until("no claim and no Pairing is left", [], async () => {
      return (await read("resourceclaims,pairings")).items.length === 0;
    });
    await observe("a", { healthy: false });
    await observe("b", { healthy: false });
  });

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

  test("tells a pod why it waits, in a condition and an event, and that it was matched at last", async () => {
    await serve("a");
    const wide = pods.bestEffort();
    const limits = { cpu: "1000", memory: "1Gi" };
    wide.spec.containers = [{ ...pods.container("main"), resources: { limits } }];
    await create(pods.jobOf(wide, "wide"));
    const large = pods.bestEffort();
    large.metadata.annotations = { ...large.metadata.annotations, "cotenant.io/memory": "60Gi" };
    await create(pods.jobOf(large, "large"));
    const told = async (job: string) => conditionOf((await podsOf(job))[0] ?? { status: {} });
    await until("both are told why", [], async () => {
      return (await told("wide")) !== undefined && (await told("large")) !== undefined;
    });
    expect(await told("wide")).toMatchObject({
      status: "False",
      reason: "NoFittingGpu",
      message: "No GPU with a place fits: of the nodes, 1 has too little cpu.",
    });
    expect(await told("large")).toMatchObject({
      message: "No GPU with a place fits: of the GPUs, 1 has less memory left than its 60.0 GiB.",
    });
    const [pod] = await podsOf("wide");
    const events = await read(
      "events",
      "--field-selector",
      `involvedObject.uid=${pod.metadata.uid}`,
    );
    expect(events.items.map(({ reason }: { reason: string }) => reason)).toEqual(["NoFittingGpu"]);
    const { stdout } = await cotenantCluster(cluster(), ["why", `default/${pod.metadata.name}`]);
    expect(stdout).toContain(
      "It waits for a GPU. No GPU with a place fits: of the nodes, 1 has too",
    );
    await observe("a", { ...(agents?.told("a")[0] ?? {}), memoryBytes: 70 * GIB });
    await isScheduled("large");
    await until("it is told that it is matched", [], async () => {
      return (await told("large"))?.status === "True";
    });
  });

  test("says in a Pairing what a pod is expected to retain, and lets its share follow the load", async () => {
    await serve("a", { activeShare: 0.3 });
    await create(pods.jobOf(pods.bestEffort(), "paired"));
    await isScheduled("paired");
    const pairing = async () => (await read("pairings")).items[0];
    await until("there is a Pairing", [], async () => (await pairing()) !== undefined);
    const { spec, metadata } = await pairing();
    const [pod] = await podsOf("paired");
    expect(metadata.name).toBe(pod.spec.resourceClaims[0].resourceClaimName);
    expect(spec).toMatchObject({
      ...{ pod: pod.metadata.name, service: "default/serve-a", node: "a", gpu: "GPU-a" },
      predicted: { retained: 0.7, from: "turns" },
    });
    expect(spec.share).toBeCloseTo(0.7);
    await observe("a", { ...(agents?.told("a")[0] ?? {}), activeShare: 0.8 });
    await until("the share follows", [], async () => (await pairing()).spec.share < 0.25);
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
      await observe("a", { ...(agents?.told("a")[0] ?? {}), activeShare });
      await until("the share follows", [], async () => {
        return Math.abs((await pairing()).spec.share - (1 - activeShare)) < 0.05;
      });
    }
    await cluster().ask(["delete", "job", "learned-first", "--wait=true"]);
    await observe("b", { ...(agents?.told("b")[0] ?? {}), slots: 2 });
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
    await observe("a", { ...(agents?.told("a")[0] ?? {}), activeShare: 0.9 });
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

  test("lets a pod that names a profile wait until the profile is there", async () => {
    await serve("a");
    const pod = pods.bestEffort();
    pod.metadata.annotations = { ...pod.metadata.annotations, "cotenant.io/profile": "gpt" };
    await create(pods.jobOf(pod, "profiled"));
    await until("it is told that its profile is missing", [], async () => {
      const [one] = await podsOf("profiled");
      return conditionOf(one ?? { status: {} })?.reason === "NoProfile";
    });
    await create({
      apiVersion: "cotenant.io/v1alpha1",
      kind: "WorkloadProfile",
      metadata: { name: "gpt" },
      spec: { gpu: "none", metrics: { smBusy: 95 } },
    });
    await isScheduled("profiled");
  });

  test("tells a pod that the namespace may have no claim, and leaves the GPU to others", async () => {
    await serve("a", { slots: 1 });
    await cluster().ask(["create", "namespace", "poor"]);
    await create(
      {
        ...{ apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "none" } },
        spec: { hard: { "count/resourceclaims.resource.k8s.io": "0" } },
      },
      ...["-n", "poor"],
    );
    await cluster().ask([
      ...["wait", "--for=jsonpath={.status.hard}", "--timeout=300s"],
      ...["resourcequota/none", "-n", "poor"],
    ]);
    const first = pods.bestEffort();
    await create(pods.jobOf(first, "refused"), "-n", "poor");
    const refused = async () => (await read("pods", "-n", "poor", "-l", "app=refused")).items[0];
    await until("it is told why it waits", [], async () => {
      return conditionOf((await refused()) ?? { status: {} })?.reason === "ClaimRefused";
    });
    expect(conditionOf(await refused())?.message).toMatch(
      /^The API server refuses claims in the namespace poor, and is asked again each minute: .*exceeded quota: none/,
    );
    await create(pods.jobOf(pods.bestEffort(), "allowed"));
    await isScheduled("allowed");
    await cluster().ask(["delete", "namespace", "poor", "--wait=true"]);
  });

  test("says in events what of a pod does not count: its objective, and a profile of another GPU", async () => {
    const service = pods.high();
    service.metadata = {
      name: "wrong",
      annotations: { ...service.metadata.annotations, "cotenant.io/objective": "p99=fast" },
    };
    service.spec.nodeSelector = { "kubernetes.io/hostname": "a" };
    await create(pods.asObject(service));
    await serve("b");
    await create({
      ...{ apiVersion: "cotenant.io/v1alpha1", kind: "WorkloadProfile", metadata: { name: "far" } },
      spec: { gpu: "another", metrics: { smBusy: 95 } },
    });
    const pod = pods.bestEffort();
    pod.metadata.annotations = { ...pod.metadata.annotations, "cotenant.io/profile": "far" };
    await create(pods.jobOf(pod, "elsewhere"));
    await isScheduled("elsewhere");
    const said = async (reason: string) =>
      (await read("events", "--field-selector", `reason=${reason}`)).items.map(
        ({ message }: { message: string }) => message,
      );
    await until("both are told", [], async () => {
      return (
        (await said("ObjectiveNotRead")).length > 0 && (await said("ProfileNotUsed")).length > 0
      );
    });
    expect(await said("ObjectiveNotRead")).toEqual([
      'cotenant.io/objective p99=fast: "fast" is not a time such as 200us, 10ms, 2s or 1h. The pod has no objective.',
    ]);
    expect(await said("ProfileNotUsed")).toEqual([
      "The WorkloadProfile far is of a another, which no node of this cluster has (there are: none): nothing is predicted from it. Name a profile that was measured on a none.",
    ]);
  });

  test("goes on where it was stopped", async () => {
    await serve("a");
    await manager?.stop();
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
    manager = await startManager(cluster());
    await isScheduled("later");
    expect((await podsOf("later"))[0].spec.nodeName).toBe("a");
  });

  test("tells pods when Cotenant's kinds are of another version than the manager's", async () => {
    await manager?.stop();
    const kind = "workloadprofiles.cotenant.io";
    const { metadata, spec } = await read("crd", kind);
    const older = { ...spec.versions[0], name: "v1alpha0" };
    await cluster().ask(["delete", "crd", kind, "--wait=true"]);
    await create({
      ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
      ...{ metadata: { name: metadata.name }, spec: { ...spec, versions: [older] } },
    });
    await create(pods.jobOf(pods.bestEffort(), "early"));
    manager = await startManager(cluster());
    await until("it is told why it waits", [], async () => {
      const [pod] = await podsOf("early");
      return conditionOf(pod ?? { status: {} })?.reason === "ManagerNotReady";
    });
    expect(conditionOf((await podsOf("early"))[0])?.message).toMatch(
      /^The manager can't see the cluster: \/apis\/cotenant.io\/v1alpha1\/workloadprofiles could not be watched: .* run cotenant cluster install of the manager's version\.$/,
    );
    await cluster().ask(["delete", "crd", kind, "--wait=true"]);
    await create({
      ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
      ...{ metadata: { name: metadata.name }, spec },
    });
    await serve("a");
    await isScheduled("early");
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
