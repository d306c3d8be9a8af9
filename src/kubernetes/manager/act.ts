// Writes state what they expect to be there: a manager that saw an older state changes nothing.
import { type Api, ApiError } from "../api/client.ts";
import { eventAbout } from "../api/event.ts";
import {
  CHOICE_ANNOTATION,
  CLAIM_IN_POD,
  DEVICE_CLASS,
  DRIVER,
  GPU_ANNOTATION,
  MATCH_GATE,
  MATCHED_AT_ANNOTATION,
  MEMORY_ANNOTATION,
  MOVABLE_ANNOTATION,
  NODE_ANNOTATION,
} from "../labels/names.ts";
import type { Crowding } from "./moves/crowded.ts";
import type { Harm } from "./moves/harm.ts";
import type { Move } from "./moves/moves.ts";
import { affinityOn } from "./moves/pinned.ts";
import type { Action } from "./plan.ts";
import type { Claim, Pod } from "./state/objects.ts";
import { claimNameIn } from "./state/pods.ts";

export interface Written {
  claim?(claim: Claim): void;
  pod?(pod: Pod): void;
}

/** `isAllowed` is asked before each write: they may be seconds apart. `now`: ms since 1970. */
export async function carryOut(
  api: Api,
  action: Action,
  now: number,
  written: Written,
  isAllowed: () => boolean,
): Promise<boolean> {
  const { pod } = action;
  const { namespace = "" } = pod.metadata;
  switch (action.kind) {
    case "claim":
      written.claim?.(await api.create<Claim>(claimsOf(namespace), claimFor(action, now)));
      if (!isAllowed()) return false;
      written.pod?.(await release(api, pod, action.node));
      return true;
    case "release":
      written.pod?.(await release(api, pod, action.node));
      return true;
    case "give-up": {
      const path = `${claimsOf(namespace)}/${claimNameIn(pod)}`;
      if (action.claim) {
        // The claim goes first: the scheduler can't take the pod to its GPU while it is evicted.
        await api.remove(path, action.claim.metadata);
      } else if ((await api.find(path)) !== undefined) return false; // it was not seen yet
      if (!isAllowed()) return false;
      await evict(api, pod, "NotScheduled", givenUp(action.node), now);
      return true;
    }
    case "move":
      await evict(api, pod, "Moved", moved(action), now);
      return true;
    case "crowded":
      await evict(api, pod, "ServiceGrew", crowded(action), now);
      return true;
    case "harm":
      await evict(api, pod, "ServiceSlowed", harmful(action), now);
      return true;
    case "drain":
      await evict(api, pod, "Drained", "The SharingPolicy says drain: the pod is evicted.", now);
      return true;
  }
}

const podsOf = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
const claimsOf = (namespace: string) =>
  `/apis/resource.k8s.io/v1/namespaces/${namespace}/resourceclaims`;

export function claimFor(
  { pod, node, gpu, memoryBytes, choice }: Omit<Extract<Action, { kind: "claim" }>, "kind">,
  now: number,
): object {
  const { namespace, name, uid, annotations } = pod.metadata;
  const expression = `device.attributes["${DRIVER}"].uuid == ${JSON.stringify(gpu)}`;
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
        ...(choice && { [CHOICE_ANNOTATION]: JSON.stringify(choice) }),
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
              selectors: [{ cel: { expression } }],
              capacity: { requests: { slots: "1", memory: `${memoryBytes}` } },
            },
          },
        ],
      },
    },
  };
}

/** It is one change: the scheduler never sees the pod without its node. */
function release(api: Api, pod: Pod, node: string): Promise<Pod> {
  const { metadata, spec } = pod;
  return api.patch(`${podsOf(metadata.namespace ?? "")}/${metadata.name}`, [
    { op: "test", path: "/metadata/uid", value: metadata.uid },
    { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
    { op: "add", path: "/spec/affinity", value: affinityOn(pod, node) },
    {
      op: "add",
      path: "/spec/schedulingGates",
      value: spec.schedulingGates?.filter(({ name }) => name !== MATCH_GATE) ?? [],
    },
  ]);
}

/** The event comes when the API server has agreed: a budget may forbid the eviction. */
async function evict(api: Api, pod: Pod, reason: string, why: string, now: number): Promise<void> {
  const { namespace = "", name, uid } = pod.metadata;
  try {
    await api.create(`${podsOf(namespace)}/${name}/eviction`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name, namespace },
      deleteOptions: { preconditions: { uid } },
    });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return; // it has gone by itself
    throw error;
  }
  await api.create(...eventAbout(pod, reason, why, now));
}

const moved = ({ from, gpu, node, retained }: Move): string =>
  `It retains ${percent(retained.here)} of its throughput on the GPU ${from}, and is expected to retain ${percent(retained.there)} on ${gpu} of the node ${node}: it is evicted, and its next pod begins there.`;

const crowded = ({ gpu, node }: Crowding): string =>
  `The service on the GPU ${gpu} of the node ${node} needs more memory than it had, and this pod's memory can't be parked: it is evicted. With the annotation ${MOVABLE_ANNOTATION} it would make room and stay.`;

const harmful = ({ gpu, node, slowdown }: Harm): string =>
  `Requests of the service on the GPU ${gpu} of the node ${node} took ${slowdown.toFixed(2)} times as long beside it, more than mostSlowdown of the SharingPolicy: it is evicted, and pods like it stay away from this service for a day or more.`;

const percent = (part: number): string => `${Math.round(100 * part)} %`;

function givenUp(node: string): string {
  const why = node
    ? `The pod was matched with a GPU of the node ${node}, but the scheduler did not take it there`
    : "The pod has no claim for a GPU any more";
  return `${why}: it is evicted, and its controller makes another. An event FailedScheduling says what was missing.`;
}
