// Several claims may share a device as far as slots and memory go; the scheduler enforces both.

import type { ObservedClient } from "../labels/demand.ts";
import { DRIVER } from "../labels/names.ts";
import { type Missed, missedSentence } from "./injector.ts";
import type { Recovered } from "./recovered.ts";
import type { NodeGpu } from "./state/gpus.ts";

/** It goes with a GPUNode that is written for another reason. */
export interface Counted extends Recovered {
  readonly clients: readonly ObservedClient[];
}

export const sliceName = (node: string): string => `${node}-${DRIVER}`;

/** A UUID in small letters is a DNS label, and stays the same whatever the order of GPUs. */
export const deviceName = (uuid: string): string => uuid.toLowerCase();

export const sliceOf = (
  node: { readonly name: string; readonly uid: string },
  gpus: readonly NodeGpu[],
  generation: number,
): object => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: {
    name: sliceName(node.name),
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node.name, uid: node.uid }],
  },
  spec: {
    driver: DRIVER,
    nodeName: node.name,
    pool: { name: node.name, generation, resourceSliceCount: 1 },
    devices: gpus.map(({ uuid, model, slots, memoryBytes, taints }) => ({
      name: deviceName(uuid),
      allowMultipleAllocations: true,
      attributes: { uuid: { string: uuid }, model: { string: model.slice(0, 64) } },
      capacity: { slots: { value: String(slots) }, memory: { value: String(memoryBytes) } },
      ...(taints.length > 0 && { taints }),
    })),
  },
});

export const gpuNodeOf = (
  node: string,
  gpus: readonly (NodeGpu & Partial<Counted>)[],
  injecting: Injecting,
  now: number,
): object => ({
  apiVersion: "cotenant.io/v1alpha1",
  kind: "GPUNode",
  metadata: { name: node },
  status: {
    observedAt: new Date(now).toISOString(),
    gpus: gpus.map(({ taints, hold, because, podUid, older, ...told }) => ({
      ...told,
      ...(because !== undefined && { because }),
      ...(podUid !== undefined && { podUid }),
    })),
    conditions: [shareable(gpus), injects(injecting), current(gpus)],
  },
});

function shareable(gpus: readonly NodeGpu[]): object {
  const refused = gpus.filter(({ because }) => because !== undefined);
  return {
    type: "Shareable",
    ...(refused.length === 0
      ? { status: "True", reason: "AllShareable", message: "" }
      : {
          ...{ status: "False", reason: "NotShareable" },
          message: refused.map(refusalOf).join(" "),
        }),
  };
}

/** After an upgrade, clients that were there before it have an older library. */
function current(gpus: readonly NodeGpu[]): object {
  const count = gpus.reduce((sum, { older }) => sum + older, 0);
  return {
    type: "ClientsCurrent",
    ...(count === 0
      ? { status: "True", reason: "AllCurrent", message: "" }
      : {
          ...{ status: "False", reason: "OlderClients" },
          message: `${count} clients have an older library than the agent. They are served; what came since, they have when their pods are created again.`,
        }),
  };
}

export interface Injecting {
  readonly problem: string | undefined;
  readonly missed: readonly Missed[];
}

function injects({ problem, missed }: Injecting): object {
  const reason =
    missed.length > 0 ? "ContainersMissed" : problem === undefined ? "AllInjected" : "NotConnected";
  const sentences = [
    ...(problem === undefined
      ? []
      : [`High pods get the library from the webhook alone: ${problem}.`]),
    ...missed.map(missedSentence),
  ];
  return {
    type: "Injecting",
    status: reason === "AllInjected" ? "True" : "False",
    ...{ reason, message: sentences.join(" ").slice(0, LONGEST_MESSAGE) },
  };
}

/** The schema of a GPUNode has this limit. */
const LONGEST_MESSAGE = 32_768;

export const refusalOf = ({ uuid, because }: NodeGpu): string => `${uuid} is ${because}.`;
