// A user writes most of these objects, so no part that is kept may be as large as a user likes.
import { isMetric } from "#predict";
import type { Named } from "../../api/watched.ts";
import {
  CLASS_ANNOTATION,
  DEVICE_CLASS,
  MATCHED_CONDITION,
  SYSTEM_NAMESPACE,
} from "../../labels/names.ts";
import type {
  Claim,
  Condition,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  WorkloadProfile,
} from "./objects.ts";
import { hashOf, isHigh, programOf } from "./pods.ts";
import { requestsOf } from "./requests.ts";

const MAX_ANNOTATION = 512;
/** A pod whose constraints on its node are longer, as JSON, is not matched. */
const MAX_CONSTRAINTS = 32_768;
const MAX_ENTRIES = 64;
const OURS = "cotenant.io/";

/** `managedFields` take more memory than all else. */
export function whole<T extends Named>(one: T): T {
  const { managedFields, ...metadata }: T["metadata"] & { readonly managedFields?: unknown } =
    one.metadata;
  return { ...one, metadata };
}

type Metadata = Pod["metadata"];

function keptMetadata({ annotations = {}, ...metadata }: Metadata): Metadata {
  const { name, namespace, uid, resourceVersion } = metadata;
  const { creationTimestamp, deletionTimestamp, ownerReferences } = metadata;
  const ours = Object.entries(annotations).filter(
    ([key, { length }]) => key.startsWith(OURS) && length <= MAX_ANNOTATION,
  );
  return {
    ...{ name, uid, resourceVersion, creationTimestamp },
    ...(namespace !== undefined && { namespace }),
    ...(ours.length > 0 && { annotations: Object.fromEntries(ours.slice(0, MAX_ENTRIES)) }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(ownerReferences && {
      ownerReferences: ownerReferences.slice(0, MAX_ENTRIES).map(({ uid: owner, controller }) => ({
        uid: owner,
        ...(controller !== undefined && { controller }),
      })),
    }),
  };
}

/** Most pods are none of Cotenant's: of them only what they take of their nodes is kept. */
export function keptPod(pod: Pod): Pod {
  const { spec, status } = pod;
  const { nodeName } = spec;
  const requests = [...requestsOf(pod)]
    .filter(([name]) => name !== "pods")
    .slice(0, MAX_ENTRIES)
    .map(([name, amount]) => [name, String(amount)] as const);
  const takes = {
    resources: { requests: Object.fromEntries(requests) },
    ...(nodeName !== undefined && { nodeName }),
  };
  const phase = { ...(status.phase !== undefined && { phase: status.phase }) };
  if (pod.metadata.annotations?.[CLASS_ANNOTATION] === undefined) {
    const { name, namespace = "", uid, resourceVersion, creationTimestamp } = pod.metadata;
    const isNodePart = isNodePartPod(pod);
    return {
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: { ...takes, ...(isNodePart && { isNodePart }) },
      status: {
        ...phase,
        ...(isNodePart && named("conditions", status.conditions?.filter(isRead))),
      },
    };
  }
  const { priority, schedulerName } = spec;
  const volumeClaims = (spec.volumes ?? [])
    .flatMap(
      ({ name, persistentVolumeClaim, ephemeral }) =>
        // Kubernetes makes the claim of an ephemeral volume, and calls it so.
        persistentVolumeClaim?.claimName ?? (ephemeral ? `${pod.metadata.name}-${name}` : []),
    )
    .slice(0, MAX_ENTRIES);
  const programs = (spec.containers ?? []).flatMap((one) => programOf(one) ?? []);
  return {
    metadata: keptMetadata(pod.metadata),
    spec: {
      ...takes,
      ...constraintsOf(spec),
      ...(programs.length > 0 && { containers: [{ program: hashOf(programs) }] }),
      ...(isHigh(pod) && { workload: workloadNameOf(pod) }),
      ...(priority !== undefined && { priority }),
      ...(schedulerName !== undefined && { schedulerName }),
      ...named("volumeClaims", volumeClaims),
      ...named("schedulingGates", spec.schedulingGates),
      ...named(
        "resourceClaims",
        spec.resourceClaims?.map(({ name, resourceClaimName }) => ({
          name,
          ...(resourceClaimName !== undefined && { resourceClaimName }),
        })),
      ),
    },
    status: { ...phase, ...named("conditions", status.conditions?.filter(isRead)) },
  };
}

function constraintsOf({ nodeSelector, tolerations, affinity }: Pod["spec"]): Partial<Pod["spec"]> {
  const all = {
    ...(nodeSelector && { nodeSelector }),
    ...(tolerations && { tolerations }),
    ...(affinity && { affinity }),
  };
  return JSON.stringify(all).length > MAX_CONSTRAINTS ? { isTooLarge: true } : all;
}

const named = <K extends string, T>(name: K, list: readonly T[] | undefined) =>
  list && list.length > 0 ? ({ [name]: list } as { readonly [key in K]: readonly T[] }) : {};

const isNodePartPod = ({ metadata: { namespace, labels = {} } }: Pod): boolean =>
  namespace === SYSTEM_NAMESPACE && labels["app.kubernetes.io/component"] === "node";

/** A ReplicaSet's suffix is cut off. Where nothing makes the pod again, its own name counts. */
function workloadNameOf({ metadata: { name, labels = {}, ownerReferences = [] } }: Pod): string {
  const owner = ownerReferences.find(({ controller }) => controller)?.name ?? name;
  const { "pod-template-hash": hash = "" } = labels;
  return hash !== "" && owner.endsWith(`-${hash}`) ? owner.slice(0, -hash.length - 1) : owner;
}

const READ = ["PodScheduled", "Ready", "DisruptionTarget", MATCHED_CONDITION];
const isRead = ({ type }: Condition): boolean => READ.includes(type);

export const keptNode = ({ metadata, spec, status }: Node): Node => ({
  metadata: { ...keptMetadata(metadata), ...(metadata.labels && { labels: metadata.labels }) },
  spec,
  status: {
    ...(status.conditions && { conditions: status.conditions }),
    ...(status.allocatable && { allocatable: status.allocatable }),
  },
});

export const keptNamespace = ({ metadata }: Namespace): Namespace => ({
  metadata: { ...keptMetadata(metadata), ...(metadata.labels && { labels: metadata.labels }) },
});

/** A claim for another device matters as one that is none of ours alone. */
export function keptClaim({ metadata, spec, status }: Claim): Claim {
  const isOurs = spec.devices?.requests?.some(
    ({ exactly }) => exactly?.deviceClassName === DEVICE_CLASS,
  );
  const { name, namespace = "", uid, resourceVersion, creationTimestamp } = metadata;
  if (!isOurs)
    return { metadata: { name, namespace, uid, resourceVersion, creationTimestamp }, spec: {} };
  return {
    metadata: keptMetadata(metadata),
    spec: { devices: { requests: [{ exactly: { deviceClassName: DEVICE_CLASS } }] } },
    ...(status && { status: status.allocation ? { allocation: {} } : {} }),
  };
}

export const keptProfile = ({ metadata, spec }: WorkloadProfile): WorkloadProfile => ({
  metadata: keptMetadata(metadata),
  spec: {
    gpu: spec.gpu,
    metrics: Object.fromEntries(Object.entries(spec.metrics).filter(([name]) => isMetric(name))),
  },
});

export const keptVolumeClaim = ({
  metadata,
  spec,
}: PersistentVolumeClaim): PersistentVolumeClaim => ({
  metadata: keptMetadata(metadata),
  spec: {
    ...(spec.volumeName !== undefined && { volumeName: spec.volumeName }),
    ...(spec.storageClassName !== undefined && { storageClassName: spec.storageClassName }),
  },
});

export const keptVolume = ({
  metadata,
  spec: { nodeAffinity },
}: PersistentVolume): PersistentVolume => ({
  metadata: keptMetadata(metadata),
  spec: nodeAffinity ? { nodeAffinity } : {},
});

export const keptStorageClass = (one: StorageClass): StorageClass => ({
  metadata: keptMetadata(one.metadata),
  ...(one.volumeBindingMode !== undefined && { volumeBindingMode: one.volumeBindingMode }),
  ...(one.allowedTopologies && { allowedTopologies: one.allowedTopologies }),
});
