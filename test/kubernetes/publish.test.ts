// A node part writes little when its GPUs' load and memory wander, and knows GPUs of NVIDIA's DRA driver: with a real API server.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GpuStatus } from "#agent";
import { clientEdits } from "#client";
import { accessOf, connect } from "#kubernetes";
import { gpusOf, Injector, type NodePod, nodeView, VendorClaims } from "#kubernetes/node";
import { writesOf } from "../../bench/kubernetes/counts.ts";
import { asAdministrator } from "./agents.ts";
import { until } from "./cluster.ts";
import { installCotenant } from "./cotenant.ts";
import { clusterHere, whyNot } from "./here.ts";
import { accountOf } from "./manager.ts";
import { addNodes } from "./nodes.ts";
import * as pods from "./pods.ts";
import { wander } from "./wandering.ts";

const why = whyNot();
if (why !== undefined) console.error(`SKIPPED: writes of a node part, because ${why}`);

test.skipIf(why !== undefined)(
  "a node part writes so little in an hour that a thousand write 50 times a second, and slices 5 times",
  async () => {
    const before = await writesOf(cluster());
    await wander(asAdministrator(cluster()), "a", { seconds: 3600, seed: 1, begin: Date.now() });
    const after = await writesOf(cluster());
    const count = (what: RegExp) =>
      [...after]
        .filter(([kind]) => what.test(kind))
        .reduce((sum, [kind, n]) => sum + n - (before.get(kind) ?? 0), 0);
    const slices = count(/^resourceslices/);
    const all = slices + count(/^gpunodes/);
    // A heartbeat each minute, at least.
    expect(all).toBeGreaterThanOrEqual(60);
    expect([all / 3.6, slices / 3.6]).toEqual([
      expect.toSatisfy((n: number) => n <= 50, "at most 50"),
      expect.toSatisfy((n: number) => n <= 5, "at most 5"),
    ]);
  },
);

/** Also the name of its device class, in its own chart. */
const NVIDIA = "gpu.nvidia.com";

const cluster = clusterHere(async (started) => {
  await installCotenant(started);
  await addNodes(started, ["a"], { gpus: 8 });
  await addNodes(started, ["b"], { gpus: 0 });
});

describe.skipIf(why !== undefined)("GPUs of NVIDIA's DRA driver", () => {
  const api = () => asAdministrator(cluster());
  const end = new AbortController();
  afterAll(() => end.abort());

  const create = (object: object) => cluster().ask(["create", "-f", "-"], object);
  const podOf = (name: string) => api().get<NodePod>(`/api/v1/namespaces/default/pods/${name}`);
  const requests = (exactly: object = {}) => ({
    devices: {
      requests: [{ name: "gpu", exactly: { deviceClassName: NVIDIA, ...exactly } }],
    },
  });
  const template = (name: string, spec: object) => ({
    ...{ apiVersion: "resource.k8s.io/v1", kind: "ResourceClaimTemplate", metadata: { name } },
    spec: { spec },
  });
  /** The first container has the GPU, the second one has none. */
  const claiming = (name: string, claim: object) => {
    const { metadata, spec } = pods.high();
    const containers = spec.containers.map((one, i) => ({
      ...one,
      resources: i === 0 ? { claims: [{ name: "gpu", request: "gpu" }] } : {},
    }));
    return pods.asObject({
      metadata: { ...metadata, name },
      spec: {
        ...spec,
        containers,
        nodeName: undefined,
        resourceClaims: [{ name: "gpu", ...claim }],
      },
    } as never);
  };
  const runs = (name: string) =>
    cluster().ask([...["wait", "--for=jsonpath={.status.phase}=Running"], `pod/${name}`]);

  let seen: ReturnType<typeof nodeView>;
  let claims: VendorClaims;
  beforeAll(async () => {
    await create({
      ...{ apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name: NVIDIA } },
      spec: {
        selectors: [
          {
            cel: {
              expression: `device.driver == '${NVIDIA}' && device.attributes['${NVIDIA}'].type == 'gpu'`,
            },
          },
        ],
        extendedResourceName: "nvidia.com/gpu",
      },
    });
    await create({
      ...{
        apiVersion: "resource.k8s.io/v1",
        kind: "ResourceSlice",
        metadata: { name: "b-nvidia" },
      },
      spec: {
        ...{ driver: NVIDIA, nodeName: "b" },
        pool: { name: "b", generation: 1, resourceSliceCount: 1 },
        devices: [0, 1, 2].map((i) => ({
          name: `gpu-${i}`,
          attributes: { type: { string: "gpu" }, uuid: { string: `GPU-b-${i}` } },
          capacity: { memory: { value: "80Gi" } },
        })),
      },
    });
    await create(template("one", requests()));
    await create({
      ...{ apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name: "both" } },
      spec: requests(),
    });
    await cluster().ask([
      ...["label", "namespace", "default", "resource.kubernetes.io/admin-access=true"],
    ]);
    await create(template("all", requests({ allocationMode: "All", adminAccess: true })));
    const account = await accountOf(cluster(), "cotenant-node");
    const asNodePart = connect(accessOf(cluster().server, account));
    seen = nodeView(asNodePart, "b", end.signal, () => {});
    claims = new VendorClaims(asNodePart, seen.vendorSlices);
    await until("all is seen", [], async () => seen.synced && seen.vendorSlices.synced);
  });

  test("belong to the pods that have their claims, as the node part's own account sees it", async () => {
    await create(claiming("by-template", { resourceClaimTemplateName: "one" }));
    const byName = pods.high();
    byName.metadata.name = "by-name";
    byName.spec.nodeSelector = { "kubernetes.io/hostname": "b" };
    await create(pods.asObject(byName));
    for (const name of ["both-1", "both-2"])
      await create(claiming(name, { resourceClaimName: "both" }));
    await create(claiming("exporter", { resourceClaimTemplateName: "all" }));
    const names = ["by-template", "by-name", "both-1", "both-2", "exporter"];
    for (const name of names) await runs(name);
    await until("pods are seen", [], async () => seen.pods().length === names.length);
    await claims.look(seen.pods());
    const held = [...claims.holders(seen.pods())].map(([uuid, { name, isReplica }]) => ({
      ...{ uuid, name: name.replace(/-\d$/, ""), isReplica },
    }));
    expect(claims.unknown).toEqual([]);
    expect(held.map(({ name, isReplica }) => `${name} ${isReplica}`).sort()).toEqual([
      "both true",
      "by-name false",
      "by-template false",
    ]);
    expect(held.map(({ uuid }) => uuid).sort()).toEqual(["GPU-b-0", "GPU-b-1", "GPU-b-2"]);
  });

  test("are protected: the container with the claim gets the library, and no other one", async () => {
    const edits = clientEdits("/run/cotenant", "/opt/cotenant/lib/libcotenant.so");
    const injector = new Injector({
      ...{ path: "", edits, claims: new VendorClaims(api(), seen.vendorSlices) },
      ...{ ready: () => true, lacking: () => undefined, say: () => {} },
      ...{ podOf: seen.podOf, isExcluded: seen.isExcluded },
    });
    const created = async (pod: string, name: string) => {
      const { metadata } = await podOf(pod);
      const { uid, annotations = {} } = metadata;
      const sandbox = { ...{ id: uid, uid, name: pod, namespace: "default" }, annotations };
      const container = { id: name, podSandboxId: uid, name, state: 0, createdAt: 0 };
      const adjusted = await injector.create(sandbox, { ...container, env: [], mounts: [] });
      return adjusted?.env.some(({ key }) => key === "LD_PRELOAD") === true;
    };
    for (const pod of ["by-template", "by-name", "both-1"])
      expect([pod, await created(pod, "main"), await created(pod, "logs")]).toEqual([
        ...[pod, true, false],
      ]);
    expect(await created("exporter", "main")).toBe(false);
    expect(injector.missed).toEqual([]);
  });

  test("of several pods by one claim are refused with the cure", () => {
    const holders = claims.holders(seen.pods());
    const gpus = [...holders.keys()].map(
      (uuid) =>
        ({
          ...{ uuid, name: "NVIDIA H200", high: [], bestEffort: [] },
          health: { state: "healthy" },
        }) as unknown as GpuStatus,
    );
    const found = gpusOf(
      {
        ...{ now: Date.now(), gpus, agentAnswers: true, holders, pods: seen.pods() },
        ...{ taints: new Map(), services: new Map() },
      },
      { slots: 2, graceMs: 30_000 },
    );
    const told = new Map(found.map(({ uuid, because, podUid }) => [uuid, [because, podUid]]));
    for (const [uuid, { name, claimIsShared }] of holders) {
      const [because, podUid] = told.get(uuid) ?? [];
      const { uid } = seen.pods().find(({ metadata }) => metadata.name === name)?.metadata ?? {};
      if (claimIsShared)
        expect([because, podUid]).toEqual([
          expect.stringContaining("given to several pods by one claim"),
          undefined,
        ]);
      else expect([because, podUid]).toEqual([undefined, uid]);
    }
  });
});
