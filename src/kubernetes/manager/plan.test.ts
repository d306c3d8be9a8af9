import { expect, test } from "vitest";
import type { Claim, GpuNode, Node, Pod } from "./objects.ts";
import { plan, type Seen } from "./plan.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const GIB = 2 ** 30;

const metadata = (name: string, annotations: Record<string, string> = {}) => ({
  name,
  namespace: "default",
  uid: `uid-of-${name}`,
  resourceVersion: "1",
  creationTimestamp: "2025-12-31T00:00:00Z",
  annotations,
});

const service: Pod = {
  metadata: metadata("service", { "cotenant.io/class": "high" }),
  spec: { nodeName: "a" },
  status: { phase: "Running" },
};

const training = (name: string, gated = true): Pod => ({
  metadata: metadata(name, { "cotenant.io/class": "best-effort", "cotenant.io/memory": "10Gi" }),
  spec: {
    ...(gated && { schedulingGates: [{ name: "cotenant.io/match" }] }),
    resourceClaims: [{ name: "cotenant", resourceClaimName: `claim-of-${name}` }],
  },
  status: { phase: "Pending" },
});

const claimOf = (name: string, matchedAt: number, deviceClassName = "cotenant.io"): Claim => ({
  metadata: metadata(`claim-of-${name}`, {
    "cotenant.io/node": "a",
    "cotenant.io/gpu": "GPU-a",
    "cotenant.io/memory": "10Gi",
    "cotenant.io/matched-at": new Date(matchedAt).toISOString(),
  }),
  spec: { devices: { requests: [{ exactly: { deviceClassName } }] } },
});

const node: Node = {
  metadata: metadata("a"),
  spec: {},
  status: { conditions: [{ type: "Ready", status: "True" }] },
};

const observed = (atMs: number, differences: object = {}): GpuNode => ({
  metadata: metadata("a"),
  status: {
    observedAt: new Date(atMs).toISOString(),
    gpus: [
      {
        ...{ uuid: "GPU-a", model: "none", healthy: true, slots: 2, memoryBytes: 15 * GIB },
        ...{ activeShare: 0.2, podUid: "uid-of-service", ...differences },
      },
    ],
  },
});

const seen = (differences: Partial<Seen>): Seen => ({
  now: NOW,
  namespaces: [{ metadata: metadata("default") }],
  pods: [service, training("t")],
  claims: [],
  nodes: [node],
  gpuNodes: [observed(NOW)],
  ...differences,
});

const kinds = (differences: Partial<Seen>) =>
  plan(seen(differences)).map(({ kind, pod, node: on }) => `${kind} ${pod.metadata.name} ${on}`);

test("a pod that waits is matched with the GPU of a service", () => {
  expect(kinds({})).toEqual(["claim t a"]);
});

test.each<readonly [string, Partial<Seen>]>([
  ["was observed more than 30 s ago", { gpuNodes: [observed(NOW - 30_001)] }],
  ["is not healthy", { gpuNodes: [observed(NOW, { healthy: false })] }],
  ["has no slot left", { gpuNodes: [observed(NOW, { slots: 0 })] }],
  ["is always busy", { gpuNodes: [observed(NOW, { activeShare: 1 })] }],
  ["has too little memory", { gpuNodes: [observed(NOW, { memoryBytes: 9 * GIB })] }],
  ["belongs to a pod that is gone", { gpuNodes: [observed(NOW, { podUid: "another" })] }],
  ["is on a node that takes no pods", { nodes: [{ ...node, spec: { unschedulable: true } }] }],
  [
    "is on a node that the pod does not tolerate",
    { nodes: [{ ...node, spec: { taints: [{ key: "own", effect: "NoSchedule" }] } }] },
  ],
])("no pod is matched with a GPU that %s", (_, differences) => {
  expect(kinds(differences)).toEqual([]);
});

test("what claims have taken is not given again", () => {
  const pods = [service, training("t"), { ...training("u", false), spec: { nodeName: "a" } }];
  expect(kinds({ pods, claims: [claimOf("u", NOW)] })).toEqual([]);
  // Anybody may write such annotations on claims of other devices.
  expect(kinds({ pods, claims: [claimOf("u", NOW, "another")] })).toEqual(["claim t a"]);
});

test("a match that was begun is finished", () => {
  expect(kinds({ claims: [claimOf("t", NOW)] })).toEqual(["release t a"]);
});

test("a claim is given up 10 s after its match, unless it is allocated", () => {
  const pods = [service, training("t", false)];
  const old = claimOf("t", NOW - 10_001);
  expect(kinds({ pods, claims: [claimOf("t", NOW - 10_000)] })).toEqual([]);
  expect(kinds({ pods, claims: [old] })).toEqual(["give-up t a"]);
  expect(kinds({ pods, claims: [{ ...old, status: { allocation: {} } }] })).toEqual([]);
});

test("a pod that has lost its claim is given up", () => {
  expect(kinds({ pods: [service, training("t", false)] })).toEqual(["give-up t "]);
});

test.each([
  { ...metadata("default"), labels: { "cotenant.io/excluded": "" } },
  { ...metadata("default"), name: "kube-system" },
])("no pod of an excluded namespace is touched: %o", (excluded) => {
  const namespaces = [{ metadata: excluded }];
  const inside = (pod: Pod): Pod => ({
    ...pod,
    metadata: { ...pod.metadata, namespace: excluded.name },
  });
  const pods = [service, inside(training("t")), inside(training("u", false))];
  expect(kinds({ namespaces, pods })).toEqual([]);
});
