// A service that loads has only a part of its memory: what earlier pods like it had is remembered.
import type { Pod } from "./objects.ts";
import { isHigh, workloadOf } from "./pods.ts";
import type { ClusterSnapshot } from "./snapshot.ts";

/** All together fit into an object of Kubernetes. */
export const MAX_WORKLOADS = 15_000;

export interface ServiceMemories {
  observe(seen: Pick<ClusterSnapshot, "pods" | "gpuNodes" | "policy" | "wallNow">): void;
  of(service: Pod): number | undefined;
  readonly all: ReadonlyMap<string, number>;
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
