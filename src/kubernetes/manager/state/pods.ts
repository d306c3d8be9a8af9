// Facts about one pod that follow from its object alone.
import { CLAIM_IN_POD, CLASS_ANNOTATION, MATCH_GATE } from "../../labels/names.ts";
import type { Claim, Pairing, Pod } from "./objects.ts";

export const isBestEffort = ({ metadata }: Pod): boolean =>
  metadata.annotations?.[CLASS_ANNOTATION] === "best-effort";

export const isHigh = ({ metadata }: Pod): boolean =>
  metadata.annotations?.[CLASS_ANNOTATION] === "high";

/** It waits for a match. */
export const isGated = ({ spec }: Pod): boolean =>
  spec.schedulingGates?.some(({ name }) => name === MATCH_GATE) ?? false;

/** The UID of who makes the pod again after an eviction; of the pod itself where there is none. */
export const controllerOf = ({ metadata: { uid, ownerReferences = [] } }: Pod): string =>
  ownerReferences.find(({ controller }) => controller)?.uid ?? uid;

const known = new WeakMap<Pod, string>();

/** The same for pods of a namespace that run the same programs of the same images, whoever made them. */
export function workloadOf(pod: Pod): string {
  let workload = known.get(pod);
  if (workload === undefined) {
    const { containers = [] } = pod.spec;
    const programs = containers.map(({ image, command, args }) => [image, command, args]);
    workload = containers.some(({ image }) => image !== undefined)
      ? JSON.stringify([pod.metadata.namespace, programs])
      : controllerOf(pod);
    known.set(pod, workload);
  }
  return workload;
}

/** The same for a claim, the Pairing of its name, and the pod that names it (`claimKeyIn`). */
export const keyOf = ({ metadata }: Claim | Pairing): string =>
  `${metadata.namespace}/${metadata.name}`;

export const claimKeyIn = (pod: Pod): string => `${pod.metadata.namespace}/${claimNameIn(pod)}`;

export const claimNameIn = ({ spec }: Pod): string =>
  spec.resourceClaims?.find(({ name }) => name === CLAIM_IN_POD)?.resourceClaimName ?? "";
