import { expect, test } from "vitest";
import { learning } from "#place";
import { adviceFor } from "./advice.ts";
import { forecasts } from "./state/forecast.ts";
import type { Claim, ObservedGpu, Pod } from "./state/objects.ts";
import { policyOf } from "./state/policy.ts";
import type { ClusterSnapshot } from "./state/snapshot.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const metadata = (name: string, annotations: Record<string, string> = {}) => ({
  ...{ name, namespace: "default", uid: `uid-of-${name}`, resourceVersion: "1", annotations },
  creationTimestamp: "2025-12-31T00:00:00Z",
});
const service = (annotations: Record<string, string> = {}): Pod => ({
  metadata: metadata("serve", { "cotenant.io/class": "high", ...annotations }),
  spec: { nodeName: "a" },
  status: { phase: "Running" },
});
const training: Pod = {
  metadata: metadata("train", {
    "cotenant.io/class": "best-effort",
    "cotenant.io/profile": "gpt",
  }),
  spec: { nodeName: "a", resourceClaims: [{ name: "cotenant", resourceClaimName: "claim" }] },
  status: { phase: "Running" },
};
const claim: Claim = { metadata: metadata("claim", { "cotenant.io/gpu": "GPU-a" }), spec: {} };
const profileOf = (gpu: string) =>
  forecasts(
    undefined,
    [{ metadata: metadata("gpt"), spec: { gpu, metrics: { smBusy: 90 } } }],
    learning(),
  );

const seen = (more: Partial<ClusterSnapshot>, gpu: Partial<ObservedGpu> = {}): ClusterSnapshot => ({
  ...{ now: NOW, wallNow: NOW, policy: policyOf([]), pods: [], claims: [], nodes: [] },
  namespaces: [{ metadata: metadata("default") }],
  gpuNodes: [
    {
      metadata: metadata("a"),
      status: {
        observedAt: "",
        gpus: [
          {
            ...{ uuid: "GPU-a", model: "H100", healthy: true, slots: 2, memoryBytes: 0 },
            ...{ activeShare: 0, podUid: "uid-of-serve", served: true, ...gpu },
          },
        ],
      },
    },
  ],
  pairings: [],
  forecasts: forecasts(undefined, [], learning()),
  heardAt: () => NOW,
  ...{ avoided: () => [], refusal: () => undefined },
  ...{
    failedOn: () => [],
    trials: () => new Map(),
    losing: new Map(),
    refused: new Map(),
    crowded: new Map(),
    sharers: new Map(),
    serviceBytes: () => undefined,
    slowed: () => [],
    volumeDemand: () => ({ places: [], problem: undefined }),
    kept: [],
  },
  ...more,
});
const said = (more: Partial<ClusterSnapshot>, gpu?: Partial<ObservedGpu>) =>
  adviceFor(seen(more, gpu)).map(({ pod, reason, message }) => [
    `${pod.metadata.name} ${reason}`,
    message,
  ]);

test("a service that is as it was meant is told nothing", () => {
  expect(said({ pods: [service({ "cotenant.io/objective": "p99=40ms" })] })).toEqual([]);
});

test("an objective that can't be read is told to its pod, unless the namespace is left out", () => {
  const pods = [service({ "cotenant.io/objective": "p99=fast" })];
  expect(said({ pods })).toEqual([
    ["serve ObjectiveNotRead", expect.stringContaining('"fast" is not a time')],
  ]);
  const labels = { "cotenant.io/excluded": "" };
  const namespaces = [{ metadata: { ...metadata("default"), labels } }];
  expect(said({ pods, namespaces })).toEqual([]);
});

test("a service that is no client two minutes after its creation is told why", () => {
  const [pods, gpu] = [[service()], { served: false }];
  expect(said({ pods }, gpu)).toEqual([
    [
      "serve NotProtected",
      expect.stringContaining(
        "label the namespace default pod-security.kubernetes.io/enforce=privileged",
      ),
    ],
  ]);
  const labels = { "pod-security.kubernetes.io/enforce": "privileged" };
  const namespaces = [{ metadata: { ...metadata("default"), labels } }];
  expect(said({ pods, namespaces }, gpu)[0]?.[1]).toContain(
    "neither Cotenant's webhook nor its node",
  );
  const young = Date.parse("2025-12-31T00:01:59Z");
  expect(said({ pods, wallNow: young }, gpu)).toEqual([]);
});

test("a profile of another GPU than the pod's, or of one that no node has, is told", () => {
  const running = { pods: [training], claims: [claim] };
  expect(said({ ...running, forecasts: profileOf("H100") })).toEqual([]);
  expect(said({ pods: [training], forecasts: profileOf("A100") })).toEqual([]);
  expect(said({ ...running, forecasts: profileOf("A100") })).toEqual([
    [
      "train ProfileNotUsed",
      "The WorkloadProfile gpt is of a A100, which no node of this cluster has (there are: H100): nothing is predicted from it. Name a profile that was measured on a H100.",
    ],
  ]);
});

test("a released pod at which the scheduler has not looked for two minutes is told so", () => {
  const { nodeName, ...spec } = training.spec;
  const matchedAt = (ms: number): Claim => ({
    metadata: metadata("claim", {
      ...{ "cotenant.io/gpu": "GPU-a", "cotenant.io/node": nodeName ?? "" },
      "cotenant.io/matched-at": new Date(NOW - ms).toISOString(),
    }),
    spec: {},
  });
  const waits = (ms: number) =>
    said({ pods: [{ ...training, spec, status: { phase: "Pending" } }], claims: [matchedAt(ms)] });
  expect(waits(120_000)).toEqual([]);
  expect(waits(120_001)).toEqual([
    [
      "train NotSeenByScheduler",
      expect.stringMatching(
        /a GPU of the node a .* the scheduler default-scheduler has not looked/,
      ),
    ],
  ]);
});
