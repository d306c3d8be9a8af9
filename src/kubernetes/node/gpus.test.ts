import { expect, test } from "vitest";
import type { GpuStatus } from "#agent";
import { gpuNodeOf } from "./slice.ts";
import { gpusOf, type Holder, type NodeGpu, type NodeSample } from "./state/gpus.ts";
import type { DeviceTaint, NodePod } from "./state/objects.ts";

const UUID = "GPU-1";
const T0 = Date.parse("2030-01-01T00:00:00Z");
const policy = { slots: 2, graceMs: 30_000 };

const status = (state: string, more: object = {}) =>
  ({
    ...{ uuid: UUID, name: "NVIDIA H100", high: [], bestEffort: [] },
    health: { state, cause: "temperature" },
    ...more,
  }) as unknown as GpuStatus;

const pod = (annotations: Record<string, string>, namespace = "default"): NodePod => ({
  metadata: { name: "serve", namespace, uid: "uid-1", resourceVersion: "1", annotations },
  spec: { containers: [] },
  status: { phase: "Running" },
});
const high = pod({ "cotenant.io/class": "high" });
const holder: Holder = { namespace: "default", name: "serve", isReplica: false };

const seen = (more: Partial<NodeSample> & { readonly has?: NodePod } = {}): NodeSample => ({
  now: T0,
  gpus: [status("healthy")],
  agentAnswers: true,
  holders: new Map(more.has ? [[UUID, holder]] : []),
  pods: more.has ? [more.has] : [],
  taints: new Map(),
  services: new Map(),
  ...more,
});

const look = (more: Parameters<typeof seen>[0]) => gpusOf(seen(more), policy)[0];
const effects = (taints: readonly DeviceTaint[] = []) =>
  taints.map(({ key, value, effect }) => `${key}=${value}:${effect}`);

test("a GPU that a high pod has takes best-effort pods, and has no taint", () => {
  expect(look({ has: high })).toEqual({
    ...{ uuid: UUID, model: "NVIDIA H100", healthy: true, slots: 2, memoryBytes: 0 },
    ...{ activeShare: 0, podUid: "uid-1", taints: [], hold: undefined, older: 0 },
    ...{ because: undefined, served: false, starting: false, serviceBytes: 0 },
  });
});

test("without a service, and with a pod that has not opted in, best-effort work is held", () => {
  const none = look({});
  expect([none?.hold, none?.podUid]).toEqual(["no service has the GPU", undefined]);
  expect(effects(none?.taints)).toEqual(["cotenant.io/service=none:NoSchedule"]);
  const other = look({ has: pod({}) });
  expect(other?.hold).toBe("the pod default/serve has the GPU, which does not share it");
  expect(effects(other?.taints)).toEqual(["cotenant.io/service=other:NoSchedule"]);
  const excluded = look({ has: pod({ "cotenant.io/class": "high" }, "kube-system") });
  expect(excluded?.podUid).toBe(undefined);
});

test("a service that is being deleted has left when its last process has ended, whatever kubelet says", () => {
  const leaving = { ...high, metadata: { ...high.metadata, deletionTimestamp: "2030-01-01" } };
  const process = { identity: { pod: "uid-1" }, activeShare: 0, gpuMemory: 0 };
  expect(look({ has: leaving, gpus: [status("healthy", { high: [process] })] })).toMatchObject({
    ...{ podUid: "uid-1", hold: undefined, taints: [] },
  });
  const left = look({ has: leaving });
  expect([left?.hold, left?.podUid]).toEqual(["no service has the GPU", undefined]);
  expect(effects(left?.taints)).toEqual(["cotenant.io/service=none:NoSchedule"]);
  // Nothing says whether a pod that has not opted in has processes.
  const other = pod({});
  const gone = { ...other, metadata: { ...other.metadata, deletionTimestamp: "2030-01-01" } };
  expect(look({ has: gone })?.hold).toMatch("the pod default/serve has the GPU");
});

test("after the grace pods are evicted, whoever has published the taint; the time goes on when another pod comes", () => {
  const before = look({})?.taints ?? [];
  const taints = new Map([[UUID, before]]);
  const almost = look({ now: T0 + 29_999, taints, has: pod({}) });
  expect(effects(almost?.taints)).toEqual(["cotenant.io/service=other:NoSchedule"]);
  const after = look({ now: T0 + 30_000, taints });
  expect(effects(after?.taints)).toEqual(["cotenant.io/service=none:NoExecute"]);
  expect(after?.taints[0]?.timeAdded).toBe("2030-01-01T00:00:00.000Z");
  expect(look({ now: T0 + 40_000, taints, has: high })?.taints).toEqual([]);
});

test("SysMonitor's states become taints", () => {
  const of = (state: string, after = 0, taints: NodeSample["taints"] = new Map()) =>
    look({ has: high, gpus: [status(state)], now: T0 + after, taints });
  expect([of("init")?.healthy, of("unhealthy")?.healthy]).toEqual([true, false]);
  expect(["unhealthy", "overlimit", "disabled"].map((state) => of(state)?.hold)).toEqual([
    undefined,
    "the GPU is overlimit: temperature",
    "the GPU is disabled: temperature",
  ]);
  expect(effects(of("unhealthy", 60_000)?.taints)).toEqual([
    "cotenant.io/health=unhealthy:NoSchedule",
  ]);
  const over = of("overlimit");
  expect(effects(over?.taints)).toEqual(["cotenant.io/health=overlimit:NoSchedule"]);
  const later = of("overlimit", 30_000, new Map([[UUID, over?.taints ?? []]]));
  expect(effects(later?.taints)).toEqual(["cotenant.io/health=overlimit:NoExecute"]);
  expect(effects(of("disabled")?.taints)).toEqual(["cotenant.io/health=disabled:NoExecute"]);
});

test("while the agent is silent nothing new comes, and nothing is evicted", () => {
  const silent = look({ has: high, agentAnswers: false, now: T0 + 90_000 });
  expect([silent?.healthy, effects(silent?.taints)]).toEqual([
    false,
    ["cotenant.io/agent=silent:NoSchedule"],
  ]);
});

test("a GPU in replicas is no service's", () => {
  const replica = new Map([[UUID, { ...holder, isReplica: true }]]);
  expect(look({ holders: replica, pods: [high] })).toMatchObject({
    healthy: false,
    podUid: undefined,
  });
});

test("memory is what others than best-effort clients leave, in steps", () => {
  const GIB = 2 ** 30;
  const reading = { memoryTotal: 80 * GIB, memoryUsed: 30 * GIB + 1 };
  const gpus = [status("healthy", { reading, bestEffort: [{ gpuMemory: 10 * GIB }] })];
  expect(look({ gpus })?.memoryBytes).toBe(60 * GIB - 256 * 2 ** 20);
});

test("memory is left beside the most that a service has had, or states, and not the most of another pod", () => {
  const GIB = 2 ** 30;
  const using = (bytes: number, bestEffort: object[] = []) => [
    status("healthy", {
      ...{ reading: { memoryTotal: 80 * GIB, memoryUsed: 30 * GIB + bytes }, bestEffort },
      high: [{ gpuMemory: bytes, starting: true, identity: { pod: "uid-1" } }],
    }),
  ];
  const now = look({ has: high, gpus: using(4 * GIB, [{ gpuMemory: 30 * GIB }]) });
  expect(now).toMatchObject({
    ...{ memoryBytes: 76 * GIB, serviceBytes: 4 * GIB, starting: true, served: true },
  });
  const had = (podUid: string) => new Map([[UUID, { podUid, bytes: 40 * GIB }]]);
  const beside = (services: NodeSample["services"], has = high) =>
    look({ has, services, gpus: using(4 * GIB) })?.memoryBytes;
  expect([beside(had("uid-1")), beside(had("uid-0"))]).toEqual([10 * GIB, 46 * GIB]);
  const stated = pod({ "cotenant.io/class": "high", "cotenant.io/memory": "50Gi" });
  expect([beside(new Map(), stated), look({ has: stated })?.memoryBytes]).toEqual([0, 0]);
});

test("while kubelet names nobody, a service whose process is on the GPU still has it", () => {
  const gpus = [status("healthy", { high: [{ activeShare: 0.21, identity: { pod: "uid-1" } }] })];
  expect(look({ gpus, pods: [high] })).toMatchObject({
    ...{ podUid: "uid-1", activeShare: 0.25, taints: [], hold: undefined },
  });
  expect(look({ gpus })?.hold).toBe("no service has the GPU");
});

test("a GPU that is divided, in replicas, not well or not watched is refused with a sentence", () => {
  const divided = look({
    has: high,
    gpus: [status("healthy", { health: { state: "healthy", divided: true } })],
  });
  expect(divided).toMatchObject({ healthy: false, because: expect.stringContaining("by MIG") });
  expect(effects(divided?.taints)).toEqual(["cotenant.io/health=divided:NoExecute"]);
  const replica = new Map([[UUID, { ...holder, isReplica: true }]]);
  expect(look({ holders: replica })?.because).toContain("in replicas (time slicing)");
  expect(look({ gpus: [status("unhealthy")] })?.because).toBe("unhealthy: temperature");
  expect(look({ agentAnswers: false })?.because).toBe("not watched: the agent does not answer");
});

test("clients with an older library are counted in a condition of the node, and served", () => {
  const client = { activeShare: 0, identity: { pod: "uid-1" } };
  const old = look({
    has: high,
    gpus: [status("healthy", { high: [{ ...client, older: true }, client] })],
  });
  if (old === undefined) throw new Error("there is no GPU");
  const conditionsOf = (gpu: NodeGpu) =>
    gpuNodeOf("a", [gpu], { problem: undefined, missed: [] }, 0);
  expect(old).toMatchObject({ served: true, older: 1 });
  expect(conditionsOf(old)).toMatchObject({
    status: {
      gpus: [expect.not.objectContaining({ older: 1 })],
      conditions: expect.arrayContaining([
        expect.objectContaining({
          ...{ type: "ClientsCurrent", status: "False" },
          message: expect.stringMatching(/^1 clients have an older library/),
        }),
      ]),
    },
  });
  expect(conditionsOf({ ...old, older: 0 })).toMatchObject({
    status: {
      conditions: expect.arrayContaining([
        { type: "ClientsCurrent", status: "True", reason: "AllCurrent", message: "" },
      ]),
    },
  });
});

test("a service is served when a process of it is a client", () => {
  const gpus = [status("healthy", { high: [{ activeShare: 0, identity: { pod: "uid-1" } }] })];
  expect([look({ has: high, gpus })?.served, look({ has: high })?.served]).toEqual([true, false]);
});
