// The manager reports why pods wait, their expected figures, and statements of theirs that do not count.
import { describe, expect, test } from "vitest";
import { until } from "../cluster.ts";
import { cotenantCluster } from "../cotenant.ts";
import { whyNot } from "../here.ts";
import { accountOf } from "../manager.ts";
import * as pods from "../pods.ts";
import { conditionOf, GIB, managedCluster } from "./managed.ts";
import { holdSeat } from "./seat.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: tests of the manager, because ${why}`);

interface Pod {
  readonly status: { readonly phase: string };
}

describe.skipIf(why !== undefined)("the manager", () => {
  const managed = managedCluster();
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
  } = managed;

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
    await observe("a", { ...reportedOn("a"), memoryBytes: 70 * GIB });
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
    await observe("a", { ...reportedOn("a"), activeShare: 0.8 });
    await until("the share follows", [], async () => (await pairing()).spec.share < 0.25);
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
      'cotenant.io/objective p99=fast: "fast" is not a time such as 200us, 10ms, 2s, 3min or 1h. The pod has no objective.',
    ]);
    expect(await said("ProfileNotUsed")).toEqual([
      "The WorkloadProfile far is of a another, which no node of this cluster has (there are: none): nothing is predicted from it. Name a profile that was measured on a none.",
    ]);
  });

  test("has metrics for who has the token: leader, waiting pods by reason, matches, GPUs", async () => {
    await serve("a", { slots: 1 });
    await create(pods.jobOf(pods.bestEffort(), "first"));
    await isScheduled("first");
    await create(pods.jobOf(pods.bestEffort(), "second"));
    const read = (authorization: string) =>
      fetch(managed.metrics().url, { headers: { authorization } });
    expect((await read("Bearer wrong")).status).toBe(401);
    const text = async () => (await read(`Bearer ${managed.metrics().token}`)).text();
    await until("the second pod waits", [], async () =>
      (await text()).includes('cotenant_manager_waiting_pods{reason="NoFreeGpu"} 1\n'),
    );
    const now = await text();
    expect(now).toContain("cotenant_manager_leader 1\n");
    expect(now).toMatch(/cotenant_manager_matches_total [1-9]/);
    expect(now).toContain('cotenant_manager_gpus{state="full"} 1\n');
  });

  test("matches all pods while the API server refuses its requests as too many", async () => {
    await serve("a");
    await serve("b");
    // With no share of its own it has one request at a time, and what it asks meanwhile is refused.
    const kinds = { apiVersion: "flowcontrol.apiserver.k8s.io/v1" };
    const metadata = { name: "one-of-the-manager" };
    await create({
      ...{ ...kinds, kind: "PriorityLevelConfiguration", metadata },
      spec: {
        type: "Limited",
        limited: {
          ...{ nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0 },
          limitResponse: { type: "Reject" },
        },
      },
    });
    const account = { name: "cotenant-manager", namespace: "cotenant-system" };
    const all = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true };
    await create({
      ...{ ...kinds, kind: "FlowSchema", metadata },
      spec: {
        matchingPrecedence: 2,
        priorityLevelConfiguration: metadata,
        rules: [
          {
            subjects: [{ kind: "ServiceAccount", serviceAccount: account }],
            resourceRules: [{ ...all, namespaces: ["*"] }],
          },
        ],
      },
    });
    const seat = holdSeat(cluster().server, await accountOf(cluster(), account.name));
    await create(pods.jobOf(pods.bestEffort(), "throttled", 4));
    const headers = { authorization: `Bearer ${managed.metrics().token}` };
    await until("a request of the manager is refused", [], async () =>
      /cotenant_manager_api_throttled_total [1-9]/.test(
        await (await fetch(managed.metrics().url, { headers })).text(),
      ),
    );
    seat.leave();
    await until("all run", [], async () => {
      const all = await podsOf("throttled");
      return all.filter((pod: Pod) => pod.status.phase === "Running").length === 4;
    });
    expect(managed.managerLog()).not.toContain("decides no more");
    await cluster().ask(["delete", "flowschema", metadata.name]);
    await cluster().ask(["delete", "prioritylevelconfiguration", metadata.name]);
  });

  test("decides by the pairs that earlier managers have measured, and says so", async () => {
    await stopManager();
    const at = new Date().toISOString();
    const measured = {
      ...{ retained: 0.6, by: "work", seconds: 600, load: 0.3, soloBusy: 0.9, others: 0 },
      ...{ policy: "cotenant", mode: "isolated", model: "none" },
    };
    const pairs = Array.from({ length: 25 }, (_, n) => ({
      ...{ pairing: `earlier-${n}`, at, measured, predicted: { retained: 0.7, from: "turns" } },
      job: { workload: `job-${n % 5}` },
      service: { workload: `service-${Math.floor(n / 5)}` },
    }));
    const status = { week: "2026-W01", write: "earlier", recoveredGpuHours: 1, evictions: {} };
    await create({
      ...{ apiVersion: "cotenant.io/v1alpha1", kind: "SharingReport" },
      ...{ metadata: { name: "2026-w01" }, status: { ...status, services: [], pairs } },
    });
    await startManager();
    await serve("a");
    await create(pods.jobOf(pods.bestEffort(), "learned"));
    await isScheduled("learned");
    await until(
      "its Pairing is there",
      [],
      async () => (await read("pairings")).items.length === 1,
    );
    const [{ spec }] = (await read("pairings")).items;
    expect(spec.predicted).toMatchObject({ from: "rule", pairs: 25, retained: 0.6 });
    expect(spec.choice).toMatchObject({ probability: 1, alternatives: 1, explored: false });
    const { stdout } = await cotenantCluster(cluster(), ["status"]);
    expect(stdout).toContain("none: retained by the rule of busy shares, 25 measured pairs");
    await cluster().ask(["delete", "sharingreport", "2026-w01"]);
  });

  test("tells pods when Cotenant's kinds are of another version than the manager's", async () => {
    await stopManager();
    const kind = "workloadprofiles.cotenant.io";
    const { metadata, spec } = await read("crd", kind);
    const older = { ...spec.versions[0], name: "v1alpha0" };
    await cluster().ask(["delete", "crd", kind, "--wait=true"]);
    await create({
      ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
      ...{ metadata: { name: metadata.name }, spec: { ...spec, versions: [older] } },
    });
    await create(pods.jobOf(pods.bestEffort(), "early"));
    await startManager();
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
});
