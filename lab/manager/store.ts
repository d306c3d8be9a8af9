// The objects of a simulated cluster, reduced to what the manager keeps of them: by the functions through which it reads
// them from an API server.
import {
  type Claim,
  type GpuNode,
  keptClaim,
  keptNamespace,
  keptNode,
  keptPod,
  keptProfile,
  type Namespace,
  type Node,
  type Pairing,
  type Pod,
  type SharingPolicy,
  type WorkloadProfile,
  whole,
} from "#kubernetes";

export interface Kind<T> {
  values(): Iterable<T>;
  get(name: string): T | undefined;
  /** `object` as the API server holds it, as JSON. */
  put(object: { readonly metadata: { readonly name: string } }): void;
  remove(name: string): void;
}

function kindOf<T>(keep: (one: T) => T): Kind<T> {
  const all = new Map<string, T>();
  return {
    values: () => all.values(),
    get: (name) => all.get(name),
    put(object) {
      all.set(object.metadata.name, keep(JSON.parse(JSON.stringify(object))));
    },
    remove(name) {
      all.delete(name);
    },
  };
}

export const newStore = () => ({
  pods: kindOf<Pod>(keptPod),
  namespaces: kindOf<Namespace>(keptNamespace),
  nodes: kindOf<Node>(keptNode),
  claims: kindOf<Claim>(keptClaim),
  gpuNodes: kindOf<GpuNode>(whole),
  pairings: kindOf<Pairing>(whole),
  profiles: kindOf<WorkloadProfile>(keptProfile),
  policies: kindOf<SharingPolicy>(whole),
  // Simulated jobs have no volumes.
  ...{ volumeClaims: new Map(), volumes: new Map(), classes: new Map() },
});
