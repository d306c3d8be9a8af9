// The GPU memory that services need. A service that loads has only a part of it: what earlier pods like it have had is remembered.
import type { Pod } from "./objects.ts";
import { isHigh, workloadOf } from "./pods.ts";
import type { ClusterSnapshot } from "./snapshot.ts";

/** Workloads are forgotten from the oldest on. All together fit into an object of Kubernetes. */
export const MAX_WORKLOADS = 15_000;

export interface ServiceMemories {
  /** Takes what the nodes report of services that have settled. */
  observe(seen: Pick<ClusterSnapshot, "pods" | "gpuNodes" | "policy" | "wallNow">): void;
  /** The most memory that a pod of the same workload has had on a GPU. */
  of(service: Pod): number | undefined;
  /** By workload, the oldest first. */
  readonly all: ReadonlyMap<string, number>;
  /** Takes what an earlier manager has known. */
  recall(all: Iterable<readonly [workload: string, bytes: number]>): void;
}

export function serviceMemories(): ServiceMemories {
  const byWorkload = new Map<string, number>();
  const forget = (): void => {
    for (const workload of byWorkload.keys()) {
      if (byWorkload.size <= MAX_WORKLOADS) break;
      byWorkload.delete(workload);
    }
  };
  return {
    all: byWorkload,
    recall(all) {
      const known = [...byWorkload];
      byWorkload.clear();
      for (const [workload, bytes] of [...all, ...known])
        byWorkload.set(workload, Math.max(bytes, byWorkload.get(workload) ?? 0));
      forget();
    },
    observe(seen) {
      const services = new Map<string, Pod>();
      for (const pod of seen.pods) if (isHigh(pod)) services.set(pod.metadata.uid, pod);
      for (const { status } of seen.gpuNodes)
        for (const { podUid = "", serviceBytes } of status?.gpus ?? []) {
          const service = services.get(podUid);
          if (!service || serviceBytes === undefined || !isSettled(service, seen)) continue;
          const workload = workloadOf(service);
          const most = Math.max(serviceBytes, byWorkload.get(workload) ?? 0);
          byWorkload.delete(workload);
          byWorkload.set(workload, most);
        }
      forget();
    },
    of: (service) => byWorkload.get(workloadOf(service)),
  };
}

/** It has been ready for this long that it has the memory that it needs. */
export function isSettled(
  { status }: Pod,
  { policy, wallNow }: Pick<ClusterSnapshot, "policy" | "wallNow">,
): boolean {
  if (policy.serviceAgeSeconds === 0) return true;
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return (
    ready?.status === "True" &&
    wallNow - Date.parse(ready.lastTransitionTime ?? "") >= 1000 * policy.serviceAgeSeconds
  );
}
