import { expect, test } from "vitest";
import { learning } from "#place";
import { plan } from "./plan.ts";
import { forecasts } from "./state/forecast.ts";
import type { Claim, GpuNode, Node, Pod, PolicySpec } from "./state/objects.ts";
import { policyOf } from "./state/policy.ts";
import { type ClusterSnapshot, claimsForGpus } from "./state/snapshot.ts";

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
  status: {
    phase: "Running",
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2025-12-31T00:00:00Z" }],
  },
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
  metadata: {
    ...metadata(`claim-of-${name}`, {
      "cotenant.io/node": "a",
      "cotenant.io/gpu": "GPU-a",
      "cotenant.io/memory": "10Gi",
      "cotenant.io/matched-at": new Date(matchedAt).toISOString(),
    }),
    ownerReferences: [{ uid: `uid-of-${name}` }],
  },
  spec: { devices: { requests: [{ exactly: { deviceClassName } }] } },
});

const node: Node = {
  metadata: metadata("a"),
  spec: {},
  status: {
    conditions: [{ type: "Ready", status: "True" }],
    allocatable: { cpu: "8", memory: "64Gi", pods: "10" },
  },
};

const observed = (differences: object = {}): GpuNode => ({
  metadata: metadata("a"),
  status: {
    observedAt: new Date(NOW).toISOString(),
    gpus: [
      {
        ...{ uuid: "GPU-a", model: "none", healthy: true, slots: 2, memoryBytes: 15 * GIB },
        ...{ activeShare: 0.2, podUid: "uid-of-service", ...differences },
      },
    ],
  },
});

const policy = (differences: Partial<PolicySpec>) => ({ ...policyOf([]), ...differences });

const seen = (differences: Partial<ClusterSnapshot>): ClusterSnapshot => ({
  now: NOW,
  wallNow: NOW,
  policy: policyOf([]),
  namespaces: [{ metadata: metadata("default") }],
  pods: [service, training("t")],
  claims: [],
  nodes: [node],
  gpuNodes: [observed()],
  pairings: [],
  forecasts: forecasts(undefined, [], learning()),
  heardAt: () => NOW,
  avoided: () => [],
  ...{
    failedOn: () => [],
    trials: () => new Map(),
    losing: new Map(),
    refused: new Map(),
    crowded: new Map(),
    sharers: new Map(),
    slowed: () => [],
    serviceBytes: () => undefined,
    volumeDemand: () => ({ places: [], problem: undefined }),
    kept: [],
  },
  refusal: () => undefined,
  ...differences,
});

const planned = (differences: Partial<ClusterSnapshot>) => plan(seen(differences));
const kinds = (differences: Partial<ClusterSnapshot>) =>
  planned(differences).actions.map(
    ({ kind, pod, node: on }) => `${kind} ${pod.metadata.name} ${on}`,
  );
const whyWaits = (differences: Partial<ClusterSnapshot>) =>
  planned(differences).waits.map(
    ({ pod, reason, message }) => `${pod.metadata.name} ${reason}: ${message}`,
  );

test("a pod that waits is matched with the GPU of a service", () => {
  expect(kinds({})).toEqual(["claim t a"]);
});

const sized = (name: string, limits: Record<string, string>): Pod => {
  const { spec, ...pod } = training(name);
  return { ...pod, spec: { ...spec, containers: [{ resources: { limits } }] } };
};

const requiring = (operator: string, values: readonly string[]): Pod => {
  const { spec, ...pod } = training("t");
  const required = {
    nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator, values }] }],
  };
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
  return { ...pod, spec: { ...spec, affinity: { nodeAffinity } } };
};

const tainted = (taint: Node["spec"]["taints"]): Partial<ClusterSnapshot> => ({
  nodes: [{ ...node, spec: { ...(taint && { taints: taint }) } }],
});

const nodePart = (ready: string): Pod => ({
  metadata: metadata("cotenant-node-x"),
  spec: { isNodePart: true, nodeName: "a" },
  status: { phase: "Running", conditions: [{ type: "Ready", status: ready }] },
});

test("a node part that is replaced keeps nothing from its node once the next one is ready", () => {
  expect(kinds({ pods: [...seen({}).pods, nodePart("False"), nodePart("True")] })).toEqual([
    "claim t a",
  ]);
});

test.each<readonly [string, Partial<ClusterSnapshot>, string]>([
  [
    "has reported nothing for 150 s",
    { heardAt: () => NOW - 150_001 },
    "NoFreeGpu: No GPU has a place: 1 are on nodes whose part of Cotenant is not ready or has reported nothing for 150 s: see the pods of cotenant-node there.",
  ],
  [
    "has a node part that is not ready",
    { pods: [...seen({}).pods, nodePart("False")] },
    "1 are on nodes whose part of Cotenant is not ready",
  ],
  ["is not healthy", { gpuNodes: [observed({ healthy: false })] }, "1 are not healthy"],
  [
    "is refused by its node part",
    { gpuNodes: [observed({ healthy: false, because: "divided by MIG" })] },
    "1 are not healthy (GPU-a of a is divided by MIG)",
  ],
  [
    "has a service for which nothing would be held back",
    { gpuNodes: [observed({ served: false })] },
    "1 have services that run without Cotenant's library",
  ],
  [
    "is on a node without an agent",
    { gpuNodes: [] },
    "No node reports GPUs: cotenant cluster status shows on which nodes the node part runs.",
  ],
  [
    "lets no claim into its namespace",
    { refusal: () => "exceeded quota: gpus" },
    "ClaimRefused: The API server refuses claims in the namespace default, and is asked again each minute: exceeded quota: gpus",
  ],
  ["has no slot left", { gpuNodes: [observed({ slots: 0 })] }, "have all the best-effort pods"],
  ["is too busy", { gpuNodes: [observed({ activeShare: 0.96 })] }, "1 are too busy"],
  [
    "has too little memory",
    { gpuNodes: [observed({ memoryBytes: 9 * GIB })] },
    "NoFittingGpu: No GPU with a place fits: of the GPUs, 1 has less memory left than its 10.0 GiB.",
  ],
  [
    "belongs to a pod that is gone",
    { gpuNodes: [observed({ podUid: "another" })] },
    "1 belong to no running pod of class high",
  ],
  [
    "is on a node that is cordoned",
    { nodes: [{ ...node, spec: { unschedulable: true } }] },
    "cordoned, not ready, or not selected",
  ],
  [
    "is on a node that the policy does not select",
    { policy: policy({ nodeSelector: { matchLabels: { pool: "shared" } } }) },
    "cordoned, not ready, or not selected",
  ],
  [
    "is on a node that the pod does not tolerate",
    tainted([{ key: "own", effect: "NoSchedule" }]),
    "of the nodes, 1 has the taint own, which it does not tolerate",
  ],
  [
    "is on a node with too little cpu",
    { pods: [service, sized("t", { cpu: "8500m" })] },
    "of the nodes, 1 has too little cpu",
  ],
  [
    "is on a node whose cpu others have",
    {
      pods: [
        {
          ...service,
          spec: { ...service.spec, containers: [{ resources: { requests: { cpu: "6" } } }] },
        },
        sized("t", { cpu: "3" }),
      ],
    },
    "of the nodes, 1 has too little cpu",
  ],
  [
    "is on a node outside its required affinity",
    { pods: [service, requiring("In", ["north"])] },
    "is not one of its required node affinity",
  ],
  ["did not get its predecessor", { avoided: () => ["a"] }, "of the same controller"],
  [
    "would leave it too little",
    { policy: policy({ leastRetained: 0.9 }) },
    "more than the SharingPolicy allows",
  ],
])("no pod is matched with a GPU that %s, and it is told so", (_, differences, why) => {
  expect(kinds(differences)).toEqual([]);
  expect(whyWaits(differences)).toEqual([expect.stringContaining(why)]);
});

test("taints that are tolerated or only preferred, and affinity that holds, keep no pod away", () => {
  expect(kinds(tainted([{ key: "own", effect: "PreferNoSchedule" }]))).toEqual(["claim t a"]);
  expect(kinds({ pods: [service, requiring("NotIn", ["north"])] })).toEqual(["claim t a"]);
});

test("pods of one node share its cores: the second waits, although its GPU has a place", () => {
  const pods = [service, sized("t", { cpu: "5" }), sized("u", { cpu: "5" })];
  expect(kinds({ pods })).toEqual(["claim t a"]);
});

test("a GPU gets as many pods as it has slots and the policy allows", () => {
  const small = (name: string): Pod => {
    const pod = training(name);
    const annotations = { ...pod.metadata.annotations, "cotenant.io/memory": "1Gi" };
    return { ...pod, metadata: { ...pod.metadata, annotations } };
  };
  const pods = [service, small("t"), small("u"), small("v")];
  expect(kinds({ pods })).toEqual(["claim t a", "claim u a"]);
  expect(kinds({ pods, policy: policy({ podsPerGpu: 1 }) })).toEqual(["claim t a"]);
});

test("a higher priority goes first, then the namespace with the fewest pods, then the oldest", () => {
  const from = (name: string, namespace: string, created: string, priority: number): Pod => {
    const pod = training(name);
    return {
      ...pod,
      metadata: { ...pod.metadata, namespace, creationTimestamp: created },
      spec: { ...pod.spec, priority },
    };
  };
  const namespaces = ["x", "y"].map((name) => ({ metadata: metadata(name) }));
  const waiting = [
    from("x1", "x", "2025-12-01T00:00:00Z", -10),
    from("x2", "x", "2025-12-02T00:00:00Z", -10),
    from("y1", "y", "2025-12-03T00:00:00Z", -10),
    from("urgent", "y", "2025-12-04T00:00:00Z", -5),
  ];
  const first = (slots: number) =>
    kinds({
      namespaces,
      pods: [service, ...waiting],
      gpuNodes: [observed({ slots, memoryBytes: 100 * GIB })],
    });
  expect(first(1)).toEqual(["claim urgent a"]);
  // y has had its turn with the urgent one.
  expect(first(2)).toEqual(["claim urgent a", "claim x1 a"]);
  expect(first(3)).toHaveLength(3);
  const withoutUrgent = kinds({
    namespaces,
    pods: [service, ...waiting.slice(0, 3)],
    gpuNodes: [observed({ slots: 2, memoryBytes: 100 * GIB })],
  });
  expect(withoutUrgent).toEqual(["claim x1 a", "claim y1 a"]);
});

test("while the policy says paused nothing is matched, with dryRun it is only told, and drain evicts all", () => {
  expect(kinds({ policy: policy({ paused: true }) })).toEqual([]);
  expect(whyWaits({ policy: policy({ paused: true }) })).toEqual([
    expect.stringContaining("Paused"),
  ]);
  expect(kinds({ policy: policy({ dryRun: true }) })).toEqual([]);
  expect(whyWaits({ policy: policy({ dryRun: true }) })).toEqual([
    expect.stringContaining("t DryRun: It would be matched with the GPU GPU-a of the node a"),
  ]);
  const running = { ...training("r", false), spec: { nodeName: "a" } };
  expect(
    kinds({ policy: policy({ drain: true }), pods: [service, training("t"), running] }),
  ).toEqual(["drain r a"]);
});

test("a pod that is measured to slow its service goes, unless the service states an objective", () => {
  const running = training("r", false);
  const slowed = (annotations: Record<string, string>, more: Partial<ClusterSnapshot> = {}) => ({
    pods: [
      { ...service, metadata: { ...service.metadata, annotations } },
      { ...running, spec: { ...running.spec, nodeName: "a" } },
    ],
    claims: [claimOf("r", NOW - 9000)],
    pairings: [
      {
        metadata: metadata("claim-of-r"),
        spec: {
          ...{ pod: "r", service: "default/service", node: "a", gpu: "GPU-a", share: 1 },
          predicted: { retained: 0.8, from: "turns" as const },
        },
        status: { measured: { slowdown: 1.6, at: new Date(NOW).toISOString() } },
      },
    ],
    ...more,
  });
  const high = { "cotenant.io/class": "high" };
  expect(kinds(slowed(high))).toEqual(["harm r a"]);
  expect(kinds(slowed(high, { policy: policy({ dryRun: true }) }))).toEqual([]);
  expect(kinds(slowed({ ...high, "cotenant.io/objective": "p99=40ms" }))).toEqual([]);
});

test("a pod does not come beside a service that its workload has slowed", () => {
  const beside = { slowed: () => ["uid-of-service"] };
  expect(kinds(beside)).toEqual([]);
  expect(whyWaits(beside)).toEqual([
    "t NoFittingGpu: No GPU with a place fits: of the GPUs, 1 has a service that a pod like it was measured to slow: it is tried there again after some days.",
  ]);
  expect(kinds({ slowed: () => ["uid-of-another"] })).toEqual(["claim t a"]);
});

test("a pod that names a profile which is not there waits until it is", () => {
  const pod = training("t");
  const annotations = { ...pod.metadata.annotations, "cotenant.io/profile": "bert" };
  const pods = [service, { ...pod, metadata: { ...pod.metadata, annotations } }];
  expect(whyWaits({ pods })).toEqual([
    expect.stringContaining("There is no WorkloadProfile bert in the namespace default"),
  ]);
});

test("what claims of pods that run have taken is not given again", () => {
  const pods = [service, training("t"), { ...training("u", false), spec: { nodeName: "a" } }];
  const taken = claimOf("u", NOW);
  expect(kinds({ pods, claims: claimsForGpus([taken], pods) })).toEqual([]);
  expect(claimsForGpus([taken], [service])).toEqual([]);
  // Anybody may write such annotations on claims of other devices.
  expect(claimsForGpus([claimOf("u", NOW, "another")], pods)).toEqual([]);
});

test("a match that was begun is finished", () => {
  expect(kinds({ claims: [claimOf("t", NOW)] })).toEqual(["release t a"]);
});

const released = (name: string, reason: string, schedulerName?: string): Pod => {
  const { spec, status, ...pod } = training(name, false);
  const conditions = [{ type: "PodScheduled", status: "False", reason }];
  return {
    ...pod,
    spec: { ...spec, ...(schedulerName !== undefined && { schedulerName }) },
    status: { ...status, conditions },
  };
};

test.each(["Unschedulable", "SchedulerError"])(
  "a match is given up when the scheduler has said %s for ten seconds, however old it is",
  (reason) => {
    const pods = [service, released("t", reason)];
    const claims = [claimOf("t", NOW - 300_000)];
    const first = planned({ pods, claims });
    expect(first.actions).toEqual([]);
    const later = (ms: number) => kinds({ pods, claims, ...first.noted, now: NOW + ms });
    expect(later(10_000)).toEqual([]);
    expect(later(10_001)).toEqual(["give-up t a"]);
    const allocated = { ...claimOf("t", NOW - 300_000), status: { allocation: {} } };
    expect(kinds({ pods, claims: [allocated], ...first.noted, now: NOW + 10_001 })).toEqual([]);
  },
);

test("a match at which the scheduler has not looked yet is never given up", () => {
  const pods = [service, released("t", "SchedulingGated")];
  for (const ms of [10_001, 120_001, 86_400_000])
    expect(kinds({ pods, claims: [claimOf("t", NOW - ms)] })).toEqual([]);
});

test("no pod is matched while the scheduler has not looked at one that was matched ten seconds ago", () => {
  const pods = [service, released("t", "SchedulingGated"), training("u")];
  const room = {
    policy: policy({ podsPerGpu: 2 }),
    gpuNodes: [observed({ memoryBytes: 40 * GIB })],
  };
  const after = (ms: number) => ({ ...room, pods, claims: [claimOf("t", NOW - ms)] });
  expect(kinds(after(10_000))).toEqual(["claim u a"]);
  expect(kinds(after(10_001))).toEqual([]);
  expect(whyWaits(after(10_001))).toEqual([
    expect.stringContaining("u SchedulerBehind: The scheduler has a pod in its queue for"),
  ]);
  // It may name a scheduler that is not there.
  expect(kinds(after(120_001))).toEqual(["claim u a"]);
  const ofAnother = [service, released("t", "SchedulingGated", "another"), training("u")];
  expect(kinds({ ...after(10_001), pods: ofAnother })).toEqual(["claim u a"]);
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

test("a pod with a gate of somebody else waits with a reason, and one that was released keeps nobody back", () => {
  const withGates = (name: string, gates: readonly string[]): Pod => {
    const pod = training(name);
    const schedulingGates = gates.map((gate) => ({ name: gate }));
    return { ...pod, spec: { ...pod.spec, schedulingGates } };
  };
  const queued = withGates("q", ["cotenant.io/match", "kueue.x-k8s.io/admission"]);
  expect(kinds({ pods: [service, queued] })).toEqual([]);
  expect(whyWaits({ pods: [service, queued] })).toEqual([
    expect.stringMatching(/^q OtherGates: .* the scheduling gates kueue.x-k8s.io\/admission: /),
  ]);
  const released = withGates("r", ["kueue.x-k8s.io/admission"]);
  const claims = [claimOf("r", NOW - 60_000)];
  const gpuNodes = [observed({ memoryBytes: 40 * GIB })];
  const pods = [service, released, training("t")];
  expect(kinds({ pods, claims, gpuNodes })).toEqual(["claim t a"]);
});

test("beside a service with several GPUs nothing comes, unless the policy says so", () => {
  const [gpu] = observed().status?.gpus ?? [];
  if (!gpu) throw new Error("there is no GPU");
  const two = { ...observed(), status: { observedAt: "", gpus: [gpu, { ...gpu, uuid: "GPU-b" }] } };
  expect(kinds({ gpuNodes: [two] })).toEqual([]);
  expect(whyWaits({ gpuNodes: [two] })).toEqual([
    expect.stringContaining("2 belong to services on several GPUs"),
  ]);
  const allowed = policy({ besideSeveralGpus: true });
  expect(kinds({ gpuNodes: [two], policy: allowed })).toEqual(["claim t a"]);
});
