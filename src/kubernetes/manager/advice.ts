// These pods were accepted. Those that wait get a condition instead (waiting.ts).

import { memoryProblem } from "../labels/memory.ts";
import {
  CLASS_ANNOTATION,
  GPU_ANNOTATION,
  OBJECTIVE_ANNOTATION,
  PROFILE_ANNOTATION,
} from "../labels/names.ts";
import { objectiveIn } from "../labels/objective.ts";
import { isExcluded } from "./plan.ts";
import { unseen } from "./scheduling/queue.ts";
import type { ObservedGpu, Pod } from "./state/objects.ts";
import { claimKeyIn, isBestEffort, isGated, keyOf } from "./state/pods.ts";
import type { ClusterSnapshot } from "./state/snapshot.ts";

export interface Advice {
  readonly pod: Pod;
  readonly reason:
    | "ObjectiveNotRead"
    | "MemoryNotRead"
    | "NotProtected"
    | "ProfileNotUsed"
    | "NotSeenByScheduler";
  readonly message: string;
}

const STARTED_WITHIN_MS = 120_000;
const PRIVILEGED = "pod-security.kubernetes.io/enforce";

export function adviceFor(seen: ClusterSnapshot): readonly Advice[] {
  const namespaces = new Map([...seen.namespaces].map((one) => [one.metadata.name, one]));
  const gpus = [...seen.gpuNodes].flatMap(({ status }) => status?.gpus ?? []);
  const models = [...new Set(gpus.map(({ model }) => model))];
  const byUuid = new Map(gpus.map((gpu) => [gpu.uuid, gpu]));
  const byService = new Map(gpus.map((gpu) => [gpu.podUid, gpu]));
  const claims = new Map([...seen.claims].map((claim) => [keyOf(claim), claim]));
  const advice: Advice[] = [];
  for (const pod of seen.pods) {
    const { namespace: name = "", uid, annotations = {} } = pod.metadata;
    const namespace = namespaces.get(name);
    const isHigh = annotations[CLASS_ANNOTATION] === "high";
    if (namespace === undefined || isExcluded(namespace) || !(isHigh || isBestEffort(pod)))
      continue;
    const claim = isHigh ? undefined : claims.get(claimKeyIn(pod));
    const gpu = isHigh
      ? byService.get(uid)
      : byUuid.get(claim?.metadata.annotations?.[GPU_ANNOTATION] ?? "");
    const message = claim && !isGated(pod) ? unseen(pod, claim, seen.wallNow) : undefined;
    if (message !== undefined) advice.push({ pod, reason: "NotSeenByScheduler", message });
    if (isHigh) {
      const { problem } = objectiveIn(annotations[OBJECTIVE_ANNOTATION]);
      if (problem !== undefined) advice.push({ pod, reason: "ObjectiveNotRead", message: problem });
      const unread = memoryProblem(pod.metadata);
      if (unread !== undefined) advice.push({ pod, reason: "MemoryNotRead", message: unread });
      if (gpu !== undefined && isUnprotected(pod, gpu, seen.wallNow))
        advice.push({
          pod,
          reason: "NotProtected",
          message: unprotected(namespace.metadata.labels?.[PRIVILEGED] === "privileged", name),
        });
    }
    const profile = seen.forecasts.profileOf(pod);
    if (gpu !== undefined && profile !== undefined && profile.gpu !== gpu.model)
      advice.push({
        pod,
        reason: "ProfileNotUsed",
        message: `The WorkloadProfile ${annotations[PROFILE_ANNOTATION]} is of a ${profile.gpu}, ${
          models.includes(profile.gpu)
            ? `and the pod runs on a ${gpu.model}`
            : `which no node of this cluster has (there are: ${models.join(", ")})`
        }: nothing is predicted from it. Name a profile that was measured on a ${gpu.model}.`,
      });
  }
  return advice;
}

const isUnprotected = ({ metadata, status }: Pod, { served }: ObservedGpu, wallNow: number) =>
  served === false &&
  status.phase === "Running" &&
  wallNow - Date.parse(metadata.creationTimestamp) > STARTED_WITHIN_MS;

const unprotected = (isPrivileged: boolean, namespace: string): string =>
  "No process of the pod is known to the agent of its node, so nothing would be held back for it, and its GPU takes no " +
  `best-effort pods. If it uses its GPU already, create it again, since ${
    isPrivileged
      ? "neither Cotenant's webhook nor its node gave it the library when it was created."
      : "its node did not give it the library when it was created: kubectl describe gpunode says why. Where the node has " +
        `no Node Resource Interface, label the namespace ${namespace} ${PRIVILEGED}=privileged before.`
  }`;
