// Carries out what was planned. Patches and deletions state what they expect to be there, so that a manager which saw an
// older state changes nothing. A claim for a pod that is gone is deleted by Kubernetes.
import type { Api } from "../api/client.ts";
import {
  CLAIM_IN_POD,
  DEVICE_CLASS,
  DRIVER,
  GPU_ANNOTATION,
  MATCH_GATE,
  MATCHED_AT_ANNOTATION,
  MEMORY_ANNOTATION,
  NODE_ANNOTATION,
} from "../names.ts";
import type { Pod } from "./objects.ts";
import { type Action, claimNameIn } from "./plan.ts";

/** Rejects with an ApiError when the API server refuses. `now`: ms since 1970. */
export async function carryOut(api: Api, action: Action, now: number): Promise<void> {
  const { pod } = action;
  const { namespace = "", name, uid } = pod.metadata;
  switch (action.kind) {
    case "claim":
      await api.create(claimsOf(namespace), claimFor(action, now));
      return release(api, pod, action.node);
    case "release":
      return release(api, pod, action.node);
    case "give-up":
      // First the claim, so that the scheduler can't take the pod to its GPU while it is evicted.
      if (action.claim)
        await api.remove(
          `${claimsOf(namespace)}/${action.claim.metadata.name}`,
          action.claim.metadata,
        );
      await api.create(`/api/v1/namespaces/${namespace}/events`, givenUp(pod, action.node, now));
      await api.create(`${podsOf(namespace)}/${name}/eviction`, {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name, namespace },
        deleteOptions: { preconditions: { uid } },
      });
  }
}

const podsOf = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
const claimsOf = (namespace: string) =>
  `/apis/resource.k8s.io/v1/namespaces/${namespace}/resourceclaims`;

/** It belongs to its pod: Kubernetes deletes it with the pod. */
function claimFor(
  { pod, node, gpu, memoryBytes }: Extract<Action, { kind: "claim" }>,
  now: number,
): object {
  const { namespace, name, uid, annotations } = pod.metadata;
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      name: claimNameIn(pod),
      namespace,
      annotations: {
        [GPU_ANNOTATION]: gpu,
        [NODE_ANNOTATION]: node,
        [MEMORY_ANNOTATION]: annotations?.[MEMORY_ANNOTATION],
        [MATCHED_AT_ANNOTATION]: new Date(now).toISOString(),
      },
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }],
    },
    spec: {
      devices: {
        requests: [
          {
            name: CLAIM_IN_POD,
            exactly: {
              deviceClassName: DEVICE_CLASS,
              selectors: [
                {
                  cel: {
                    expression: `device.attributes["${DRIVER}"].uuid == ${JSON.stringify(gpu)}`,
                  },
                },
              ],
              capacity: { requests: { slots: "1", memory: `${memoryBytes}` } },
            },
          },
        ],
      },
    },
  };
}

/** In one change: the scheduler never sees the pod without its node. */
function release(api: Api, { metadata, spec }: Pod, node: string): Promise<void> {
  const here = { key: "metadata.name", operator: "In", values: [node] };
  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const given = spec.affinity?.nodeAffinity?.[required]?.nodeSelectorTerms ?? [{}];
  const nodeSelectorTerms = given.map((term) => ({
    ...term,
    matchFields: [...(term.matchFields ?? []), here],
  }));
  return api.patch(`${podsOf(metadata.namespace ?? "")}/${metadata.name}`, [
    { op: "test", path: "/metadata/uid", value: metadata.uid },
    { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
    {
      op: "add",
      path: "/spec/affinity",
      value: {
        ...spec.affinity,
        nodeAffinity: { ...spec.affinity?.nodeAffinity, [required]: { nodeSelectorTerms } },
      },
    },
    {
      op: "add",
      path: "/spec/schedulingGates",
      value: spec.schedulingGates?.filter(({ name }) => name !== MATCH_GATE) ?? [],
    },
  ]);
}

function givenUp({ metadata: { namespace, name, uid } }: Pod, node: string, now: number): object {
  const at = new Date(now).toISOString();
  const why = node
    ? `The pod was matched with a GPU of the node ${node}, but the scheduler did not take it there`
    : "The pod has no claim for a GPU any more";
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { generateName: `${name}-`, namespace },
    involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
    type: "Warning",
    reason: "NotScheduled",
    message: `${why}: it is evicted, and its controller makes another. An event FailedScheduling says what was missing.`,
    source: { component: "cotenant-manager" },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  };
}
