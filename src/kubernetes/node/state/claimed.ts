// NVIDIA's DRA driver gives GPUs out by claims, which kubelet does not list among the devices of pods.
// Since Kubernetes 1.36 a pod that asks for nvidia.com/gpu may have a claim, too: the scheduler makes it.
import { setTimeout as wait } from "node:timers/promises";
import type { Api } from "../../api/client.ts";
import type { Named, Watched } from "../../api/watched.ts";
import { GPU_RESOURCE } from "../../labels/names.ts";
import type { Holder } from "./gpus.ts";
import type { AllocatedClaim, NodePod } from "./objects.ts";

export const NVIDIA_DRIVER = "gpu.nvidia.com";

/** Claims of Cotenant's own driver have such names, and no other claim may. */
const OWN_CLAIMS = "cotenant-";

/** An instance of MIG names its GPU as its parent. */
export interface VendorSlice extends Named {
  readonly spec: {
    readonly pool: { readonly name: string };
    readonly devices?: readonly {
      readonly name: string;
      readonly attributes?: {
        readonly uuid?: { readonly string?: string };
        readonly parentUUID?: { readonly string?: string };
      };
    }[];
  };
}

interface Device {
  readonly request: string;
  /** It is the name of a pool and of the device in it. */
  readonly device: string;
}

export class VendorClaims {
  readonly #api: Api;
  readonly #slices: Pick<Watched<VendorSlice>, "synced" | "values">;
  /** The key is the pod's UID and the claim's name: an allocation stays while its pod is there. */
  readonly #devices = new Map<string, readonly Device[]>();
  #unknown: readonly string[] = [];

  constructor(api: Api, slices: Pick<Watched<VendorSlice>, "synced" | "values">) {
    this.#api = api;
    this.#slices = slices;
  }

  /** It holds after `look`. Without a claim of the driver nothing has to be known of its devices. */
  get ready(): boolean {
    return this.#slices.synced || [...this.#devices.values()].every((all) => all.length === 0);
  }

  /** Allocated devices that are in no ResourceSlice of the node. */
  get unknown(): readonly string[] {
    return this.#unknown;
  }

  /** Rejects when the API server does not answer; what is known stays. */
  async look(pods: readonly NodePod[]): Promise<void> {
    const there = new Set(pods.flatMap((pod) => claimsOf(pod).map((claim) => keyOf(pod, claim))));
    for (const key of this.#devices.keys()) if (!there.has(key)) this.#devices.delete(key);
    for (const pod of pods) await this.#lookAt(pod);
  }

  /** Resolves to whether the claims of the pod are known; at the latest after `withinMs`. */
  async lookAt(pod: NodePod, withinMs: number): Promise<boolean> {
    if (this.knows(pod)) return true;
    const looked = this.#lookAt(pod).catch(() => {}); // the next look asks again
    await Promise.race([looked, wait(withinMs)]);
    return this.knows(pod);
  }

  async #lookAt(pod: NodePod): Promise<void> {
    const { namespace = "default" } = pod.metadata;
    for (const name of claimsOf(pod)) {
      const key = keyOf(pod, name);
      if (this.#devices.has(key)) continue;
      const path = `/apis/resource.k8s.io/v1/namespaces/${namespace}/resourceclaims/${name}`;
      const claim = await this.#api.find<AllocatedClaim>(path);
      const results = claim?.status?.allocation?.devices?.results;
      if (results === undefined) continue;
      // An exporter of metrics has administrative access, which keeps no GPU from others.
      const own = results.filter((one) => one.driver === NVIDIA_DRIVER && !one.adminAccess);
      this.#devices.set(
        key,
        own.map(({ request, pool, device }) => ({ request, device: `${pool}/${device}` })),
      );
    }
  }

  knows(pod: NodePod): boolean {
    return claimsOf(pod).every((claim) => this.#devices.has(keyOf(pod, claim)));
  }

  /** Whether a container gets a GPU, as far as its pod's claims are known. */
  gives(pod: NodePod, container: string): boolean {
    return requestsOf(pod, container).some(({ claim, request }) =>
      this.#devices
        .get(keyOf(pod, claim))
        // With alternatives the result names the request and the one of them: main/small.
        ?.some((one) => request === undefined || one.request.split("/")[0] === request),
    );
  }

  /** The key is the UUID of a GPU. A GPU of several pods is nobody's. */
  holders(pods: readonly NodePod[]): ReadonlyMap<string, Holder> {
    const gpus = this.#gpus();
    const holders = new Map<string, Holder>();
    const unknown = new Set<string>();
    for (const pod of pods) {
      const { namespace = "default", name } = pod.metadata;
      if (pod.status.phase === "Succeeded" || pod.status.phase === "Failed") continue;
      const devices = claimsOf(pod).flatMap((claim) => this.#devices.get(keyOf(pod, claim)) ?? []);
      for (const { device } of devices) {
        const gpu = gpus.get(device);
        if (gpu === undefined) {
          unknown.add(device);
          continue;
        }
        const other = holders.get(gpu.uuid);
        const isAlone =
          other === undefined || (other.namespace === namespace && other.name === name);
        holders.set(gpu.uuid, {
          ...{ namespace, name, isReplica: gpu.isPart || !isAlone || other?.isReplica === true },
          ...(!isAlone && { claimIsShared: true }),
        });
      }
    }
    this.#unknown = [...unknown];
    return holders;
  }

  #gpus(): ReadonlyMap<string, { readonly uuid: string; readonly isPart: boolean }> {
    const gpus = new Map<string, { readonly uuid: string; readonly isPart: boolean }>();
    for (const { spec } of this.#slices.values())
      for (const { name, attributes: { uuid, parentUUID } = {} } of spec.devices ?? []) {
        const of = parentUUID?.string ?? uuid?.string;
        if (of !== undefined)
          gpus.set(`${spec.pool.name}/${name}`, { uuid: of, isPart: parentUUID !== undefined });
      }
    return gpus;
  }
}

/** Whether a container gets a GPU by a device plugin, or a claim that the scheduler makes for it. */
export const asksByName = ({ spec }: NodePod, container: string): boolean =>
  spec.containers.some(
    ({ name, resources }) => name === container && GPU_RESOURCE in (resources?.limits ?? {}),
  );

export const hasClaims = (pod: NodePod, container: string): boolean =>
  requestsOf(pod, container).length > 0;

const keyOf = ({ metadata }: NodePod, claim: string): string => `${metadata.uid}/${claim}`;

const claimsOf = ({ spec, status }: NodePod): readonly string[] => [
  ...(spec.resourceClaims ?? []).flatMap(({ name }) => claimCalled({ spec, status }, name) ?? []),
  ...(status.extendedResourceClaimStatus
    ? [status.extendedResourceClaimStatus.resourceClaimName]
    : []),
];

/** A claim that a template makes has a name of its own, which the pod's status tells. */
function claimCalled({ spec, status }: Pick<NodePod, "spec" | "status">, called: string) {
  const { resourceClaimName } = spec.resourceClaims?.find(({ name }) => name === called) ?? {};
  const claim =
    resourceClaimName ??
    status.resourceClaimStatuses?.find(({ name }) => name === called)?.resourceClaimName;
  return claim?.startsWith(OWN_CLAIMS) ? undefined : claim;
}

interface Request {
  readonly claim: string;
  /** undefined: all that are in the claim. */
  readonly request: string | undefined;
}

function requestsOf(pod: NodePod, container: string): readonly Request[] {
  const { resourceClaimName: made, requestMappings = [] } =
    pod.status.extendedResourceClaimStatus ?? {};
  return [
    ...pod.spec.containers
      .filter(({ name }) => name === container)
      .flatMap(({ resources }) => resources?.claims ?? [])
      .flatMap(({ name, request }) => {
        const claim = claimCalled(pod, name);
        return claim === undefined ? [] : [{ claim, request }];
      }),
    ...requestMappings.flatMap(({ containerName, requestName }) =>
      containerName === container && made !== undefined
        ? [{ claim: made, request: requestName }]
        : [],
    ),
  ];
}
