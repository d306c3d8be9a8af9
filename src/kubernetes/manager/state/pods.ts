import { createHash } from "node:crypto";
import { CLAIM_IN_POD, CLASS_ANNOTATION, MATCH_GATE } from "../../labels/names.ts";
import type { Claim, Container, Pairing, Pod } from "./objects.ts";

export const isBestEffort = ({ metadata }: Pod): boolean =>
  metadata.annotations?.[CLASS_ANNOTATION] === "best-effort";

export const isHigh = ({ metadata }: Pod): boolean =>
  metadata.annotations?.[CLASS_ANNOTATION] === "high";

export const isGated = ({ spec }: Pod): boolean =>
  spec.schedulingGates?.some(({ name }) => name === MATCH_GATE) ?? false;

/** It is the UID of who makes the pod again after an eviction, else of the pod itself. */
export const controllerOf = ({ metadata: { uid, ownerReferences = [] } }: Pod): string =>
  ownerReferences.find(({ controller }) => controller)?.uid ?? uid;

const known = new WeakMap<Pod, string>();

/** It is the same for pods of a namespace that run the same programs, whoever made them. */
export function workloadOf(pod: Pod): string {
  let workload = known.get(pod);
  if (workload === undefined) {
    const { containers = [] } = pod.spec;
    const programs = containers.map(programOf);
    workload =
      programs.length > 0 && programs.every((one) => one !== undefined)
        ? hashOf([pod.metadata.namespace, programs])
        : controllerOf(pod);
    known.set(pod, workload);
  }
  return workload;
}

/** It is a hash, because arguments may have any length; undefined without an image. */
export const programOf = ({ program, image, command, args }: Container): string | undefined =>
  program ?? (image === undefined ? undefined : hashOf([image, command, args]));

export const hashOf = (what: unknown): string =>
  createHash("sha256").update(JSON.stringify(what)).digest("base64url");

export const otherGatesOf = ({ spec }: Pod): readonly string[] =>
  (spec.schedulingGates ?? []).flatMap(({ name }) => (name === MATCH_GATE ? [] : [name]));

/** A claim, the Pairing of its name and the pod that names it (`claimKeyIn`) have the same key. */
export const keyOf = ({ metadata }: Claim | Pairing): string =>
  `${metadata.namespace}/${metadata.name}`;

export const claimKeyIn = (pod: Pod): string => `${pod.metadata.namespace}/${claimNameIn(pod)}`;

export const claimNameIn = ({ spec }: Pod): string =>
  spec.resourceClaims?.find(({ name }) => name === CLAIM_IN_POD)?.resourceClaimName ?? "";
