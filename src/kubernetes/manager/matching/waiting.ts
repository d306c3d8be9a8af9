import { gibibytes } from "#core";
import { type Job, NEVER_MEASURED } from "#place";
import { obstacleOn } from "../state/fit.ts";
import type { Profiled } from "../state/forecast.ts";
import type { Node, Pod } from "../state/objects.ts";
import { controllerOf, workloadOf } from "../state/pods.ts";
import { type Amounts, requestsOf, shortageOf } from "../state/requests.ts";
import type { GpuSeat, UnschedulableGpus } from "../state/seats.ts";
import type { ClusterSnapshot } from "../state/snapshot.ts";
import { ratios } from "../state/tried.ts";
import { misplacedOn, type VolumeDemand } from "../state/volumes.ts";
import { priorityOf } from "./order.ts";

export interface WaitingPod extends Job {
  readonly pod: Pod;
  readonly requests: Amounts;
  readonly profile: Profiled | undefined;
  readonly workload: string;
  readonly avoided: readonly string[];
  readonly obstacle: typeof obstacleOn;
}

export function waitingPod(
  pod: Pod,
  memoryBytes: number,
  seen: ClusterSnapshot,
  avoided: readonly string[] = seen.avoided(pod),
): WaitingPod {
  const requests = requestsOf(pod);
  const demand = seen.volumeDemand(pod);
  const slowed = seen.slowed(pod);
  return {
    ...{ pod, memoryBytes, requests, avoided, slowed, workload: workloadOf(pod) },
    ...{ name: pod.metadata.name, owner: controllerOf(pod) },
    ...kindsOf(pod, seen),
    priority: priorityOf(pod),
    constraints: constraintsOf(pod, requests, [...avoided, ...slowed], demand),
    obstacle: (one, node) =>
      avoided.includes(node.metadata.name)
        ? "did not get a pod of the same controller scheduled a short time ago"
        : (obstacleOn(one, node) ?? misplaced(demand, node)),
  };
}

function misplaced(demand: VolumeDemand, node: Node): string | undefined {
  const claim = misplacedOn(demand, node);
  return claim && `can't have the volume of its PersistentVolumeClaim ${claim}`;
}

/** Pods never measured are alike. So are pods of a profile: Pairings correct it already. */
function kindsOf(
  pod: Pod,
  { trials, forecasts }: ClusterSnapshot,
): Pick<WaitingPod, "profile" | "ratio" | "jobKind" | "forecastKind"> {
  const profile = forecasts.profileOf(pod);
  const tried = trials(pod);
  const isKnown = tried.size > 0;
  const workload = workloadOf(pod);
  const kind = profile?.key ?? forecasts.kindOf(workload);
  return {
    ...{ profile, ratio: isKnown ? ratios(tried, forecasts) : NEVER_MEASURED },
    jobKind: kind,
    forecastKind: kind || (isKnown ? workload : ""),
  };
}

const known = new WeakMap<Pod, string>();

function constraintsOf(
  pod: Pod,
  requests: Amounts,
  avoided: readonly string[],
  { places }: VolumeDemand,
): string {
  let own = known.get(pod);
  if (own === undefined) {
    const { nodeSelector, tolerations, affinity } = pod.spec;
    own = JSON.stringify([nodeSelector, tolerations, affinity?.nodeAffinity, [...requests]]);
    known.set(pod, own);
  }
  const where = places.length === 0 ? own : `${own} ${JSON.stringify(places)}`;
  return avoided.length === 0 ? where : `${where} ${avoided}`;
}

export interface Wait {
  readonly pod: Pod;
  readonly reason: string;
  readonly message: string;
}

export const nextInterval: Omit<Wait, "pod"> = {
  reason: "NextInterval",
  message: "Others came first: the next interval goes on.",
};

export function reasons(
  seats: readonly GpuSeat[],
  without: UnschedulableGpus,
  free: ReadonlyMap<string, ReadonlyMap<string, number>>,
  worth: (seat: GpuSeat, waiting: WaitingPod) => number,
): (waiting: WaitingPod) => Wait {
  const open = seats.filter(({ pods, slots }) => pods < slots);
  const full = without.full + seats.length - open.length;
  const told = new Map<string, Omit<Wait, "pod">>();
  return (waiting) => {
    const key = [waiting.constraints, waiting.memoryBytes, waiting.forecastKind].join("\n");
    let wait = told.get(key);
    if (wait === undefined) {
      wait =
        open.length === 0
          ? { reason: "NoFreeGpu", message: noneOpen({ ...without, full }) }
          : open.some((seat) => worth(seat, waiting) > 0)
            ? nextInterval
            : { reason: "NoFittingGpu", message: noneFits(waiting, open, free) };
      told.set(key, wait);
    }
    return { pod: waiting.pod, ...wait };
  };
}

function noneOpen(without: UnschedulableGpus): string {
  const { unserved, unprotected, starting, silent, unhealthy, because } = without;
  const { several, busy, full, closed } = without;
  const parts = [
    [full, "have all the best-effort pods that they may have"],
    [unserved, "belong to no running pod of class high"],
    [busy, "are too busy with their services"],
    [
      unprotected,
      "have services that run without Cotenant's library, so that nothing would be held back for them: create pods again that are older than the node part there, and see the events of the others",
    ],
    [
      starting,
      "have services that are starting, or whose memory is not known yet: the annotation cotenant.io/memory of a service states it",
    ],
    [
      several,
      "belong to services on several GPUs, each of which a pod on one of them would slow (besideSeveralGpus of the SharingPolicy)",
    ],
    [unhealthy, because === undefined ? "are not healthy" : `are not healthy (${because})`],
    [
      silent,
      "are on nodes whose part of Cotenant is not ready or has reported nothing for 150 s: see the pods of cotenant-node there",
    ],
    [closed, "are on nodes that are cordoned, not ready, or not selected by the SharingPolicy"],
  ] as const;
  const some = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return some.length === 0
    ? "No node reports GPUs: cotenant cluster status shows on which nodes the node part runs."
    : `No GPU has a place: ${some.join("; ")}.`;
}

function noneFits(
  { pod, requests, obstacle, memoryBytes, slowed }: WaitingPod,
  open: readonly GpuSeat[],
  free: ReadonlyMap<string, ReadonlyMap<string, number>>,
): string {
  const counts = new Map<string, Set<string>>();
  const count = (what: string, where: string) =>
    counts.set(what, (counts.get(what) ?? new Set()).add(where));
  for (const { node, uuid, freeBytes, beside } of open) {
    const { name } = node.metadata;
    const why = obstacle(pod, node);
    const short = shortageOf(free.get(name) ?? new Map(), requests);
    if (why !== undefined) count(`of the nodes, N ${why}`, name);
    else if (short !== undefined) count(`of the nodes, N has too little ${short}`, name);
    else if (slowed.includes(beside))
      count(
        "of the GPUs, N has a service that a pod like it was measured to slow: it is tried there again after some days",
        uuid,
      );
    else if (memoryBytes > freeBytes)
      count(`of the GPUs, N has less memory left than its ${gibibytes(memoryBytes)}`, uuid);
    else
      count(
        "of the GPUs, N would slow the service or the pod more than the SharingPolicy allows",
        uuid,
      );
  }
  const said = [...counts].map(([what, where]) => what.replace("N", `${where.size}`));
  return `No GPU with a place fits: ${said.join("; ")}.`;
}
