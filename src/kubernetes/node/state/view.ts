import type { Api } from "../../api/client.ts";
import { type Named, type Watched, watched } from "../../api/watched.ts";
import { EXCLUDED_LABEL, EXCLUDED_NAMESPACES, GPU_RESOURCE } from "../../labels/names.ts";
import { NVIDIA_DRIVER, type VendorSlice } from "./claimed.ts";
import type { NodePairing, NodePod } from "./objects.ts";

export interface NodeView {
  /** Pairings may come later: without one there is no share. */
  readonly synced: boolean;
  pods(): readonly NodePod[];
  podOf(uid: string): NodePod | undefined;
  isExcluded(namespace: string): boolean;
  readonly pairings: Pick<Watched<NodePairing>, "get">;
  /** They are those of NVIDIA's DRA driver. */
  readonly vendorSlices: Watched<VendorSlice>;
}

export function nodeView(
  api: Api,
  node: string,
  signal: AbortSignal,
  say: (line: string) => void,
): NodeView {
  const follow = <T extends Named>(path: string, selector: string, keep: (object: T) => T) =>
    watched<T>(api, { path: `${path}?${selector}`, keep }, signal, say);
  const here = encodeURIComponent(node);
  const excluded = follow<Named>("/api/v1/namespaces", `labelSelector=${ENCODED_LABEL}`, keepName);
  const pods = follow<NodePod>("/api/v1/pods", `fieldSelector=spec.nodeName%3D${here}`, keepPod);
  const pairings = follow<NodePairing>(
    ...(["/apis/cotenant.io/v1alpha1/pairings", `fieldSelector=spec.node%3D${here}`] as const),
    keepPairing,
  );
  const vendorSlices = follow<VendorSlice>(
    ...([
      "/apis/resource.k8s.io/v1/resourceslices",
      `fieldSelector=spec.driver%3D${NVIDIA_DRIVER}%2Cspec.nodeName%3D${here}`,
    ] as const),
    keepSlice,
  );
  const isExcluded = (namespace: string) =>
    EXCLUDED_NAMESPACES.includes(namespace) || excluded.get(namespace) !== undefined;
  return {
    get synced() {
      return pods.synced && excluded.synced;
    },
    pods: () => [...pods.values()].filter(({ metadata }) => !isExcluded(metadata.namespace ?? "")),
    podOf(uid) {
      for (const pod of pods.values()) if (pod.metadata.uid === uid) return pod;
      return undefined;
    },
    isExcluded,
    pairings,
    vendorSlices,
  };
}

const ENCODED_LABEL = encodeURIComponent(EXCLUDED_LABEL);

const keepName = ({ metadata: { name, resourceVersion } }: Named): Named => ({
  metadata: { name, resourceVersion },
});

const keepPairing = ({ metadata, spec: { gpu, share } }: NodePairing): NodePairing => {
  const { name, namespace, resourceVersion } = metadata;
  return {
    metadata: { name, resourceVersion, ...(namespace !== undefined && { namespace }) },
    spec: { gpu, share },
  };
};

const keepSlice = ({ metadata, spec: { pool, devices = [] } }: VendorSlice): VendorSlice => ({
  metadata: { name: metadata.name, resourceVersion: metadata.resourceVersion },
  spec: {
    pool: { name: pool.name },
    devices: devices.map(({ name, attributes: { uuid, parentUUID } = {} }) => ({
      name,
      attributes: { ...(uuid && { uuid }), ...(parentUUID && { parentUUID }) },
    })),
  },
});

const keepPod = ({
  metadata: { name, namespace, uid, resourceVersion, annotations, deletionTimestamp },
  spec: { containers, initContainers = [], resourceClaims },
  status: { phase, resourceClaimStatuses, extendedResourceClaimStatus },
}: NodePod): NodePod => ({
  metadata: {
    ...{ name, uid, resourceVersion },
    ...(namespace !== undefined && { namespace }),
    ...(annotations && { annotations }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
  },
  spec: {
    // Init containers count too: a sidecar of Kubernetes is one.
    containers: [...containers, ...initContainers].flatMap(({ name: called, resources }) => {
      const { claims, limits: { [GPU_RESOURCE]: gpus } = {} } = resources ?? {};
      const kept = {
        ...(gpus !== undefined && { limits: { [GPU_RESOURCE]: gpus } }),
        ...(claims && { claims }),
      };
      return Object.keys(kept).length > 0 ? [{ name: called, resources: kept }] : [];
    }),
    ...(resourceClaims && { resourceClaims }),
  },
  status: {
    ...(phase !== undefined && { phase }),
    ...(resourceClaimStatuses && { resourceClaimStatuses }),
    ...(extendedResourceClaimStatus && { extendedResourceClaimStatus }),
  },
});
