// A bound volume's node affinity decides, else the topologies of its storage class.
import { holdsOn } from "./fit.ts";
import type {
  Node,
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from "./objects.ts";

export interface VolumeDemand {
  readonly places: readonly {
    readonly claim: string;
    readonly terms: readonly NodeSelectorTerm[];
  }[];
  readonly problem: string | undefined;
}

const NOTHING: VolumeDemand = { places: [], problem: undefined };

export interface Volumes {
  readonly claims: { get(name: string, namespace?: string): PersistentVolumeClaim | undefined };
  readonly volumes: { get(name: string): PersistentVolume | undefined };
  readonly classes: { get(name: string): StorageClass | undefined };
}

export function volumeDemandOf(
  { metadata: { namespace = "" }, spec }: Pod,
  { claims, volumes, classes }: Volumes,
): VolumeDemand {
  const names = spec.volumeClaims ?? [];
  if (names.length === 0) return NOTHING;
  const places: { claim: string; terms: readonly NodeSelectorTerm[] }[] = [];
  for (const name of names) {
    const claim = claims.get(name, namespace);
    if (claim === undefined)
      return problem(
        `There is no PersistentVolumeClaim ${name} in the namespace ${namespace}: create it.`,
      );
    const { volumeName = "", storageClassName = "" } = claim.spec;
    const volume = volumes.get(volumeName);
    const storage = classes.get(storageClassName);
    const terms = volume
      ? volume.spec.nodeAffinity?.required?.nodeSelectorTerms
      : storage && topologiesOf(storage);
    if (terms) places.push({ claim: name, terms });
    if (volumeName === "" && storage?.volumeBindingMode !== "WaitForFirstConsumer")
      return problem(
        `The PersistentVolumeClaim ${name} is not bound to a volume yet: kubectl describe pvc ${name} says why.`,
      );
  }
  return { places, problem: undefined };
}

const problem = (sentence: string): VolumeDemand => ({ places: [], problem: sentence });

const topologiesOf = ({
  allowedTopologies,
}: StorageClass): readonly NodeSelectorTerm[] | undefined =>
  allowedTopologies?.map(({ matchLabelExpressions = [] }) => ({
    matchExpressions: matchLabelExpressions.map(({ key, values }) => ({
      ...{ key, operator: "In", values },
    })),
  }));

export const misplacedOn = ({ places }: VolumeDemand, node: Node): string | undefined =>
  places.find(({ terms }) => !terms.some((term) => holdsOn(term, node)))?.claim;
