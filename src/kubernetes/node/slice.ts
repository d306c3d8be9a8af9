// The ResourceSlice of a node: one device for each GPU, which several claims may share as far as its slots and its memory
// go. The scheduler enforces both.
import { DRIVER } from "../labels/names.ts";
import { type Missed, missedSentence } from "./injector.ts";
import type { Recovered } from "./recovered.ts";
import type { NodeGpu } from "./state/gpus.ts";

export const sliceName = (node: string): string => `${node}-${DRIVER}`;

/** A device's name is a DNS label; a UUID in small letters is one, and stays the same whatever the order of GPUs. */
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
    // It is gone with its node.
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

/** The GPUNode of a node: what the manager reads. */
export const gpuNodeOf = (
  node: string,
  gpus: readonly (NodeGpu & Partial<Recovered>)[],
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

/** Whether all GPUs of a node may be shared, and in one sentence which is not and why. */
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

/** Whether all clients have the agent's library: after an upgrade those that were there before it have an older one. */
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

/** The node's changes of containers of high pods. */
export interface Injecting {
  /** Why none gets the library from the node, in words; undefined: each does. */
  readonly problem: string | undefined;
  readonly missed: readonly Missed[];
}

/** Whether the node gives containers of high pods the library as they are created, and which of them it has missed. */
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

/** As the schema of a GPUNode has it. */
const LONGEST_MESSAGE = 32_768;

export const refusalOf = ({ uuid, because }: NodeGpu): string => `${uuid} is ${because}.`;
