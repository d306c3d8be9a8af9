// A scheduler takes one pod at a time, so after a large match most wait in its queue. These keep
// their matches, since an eviction would only bring others there; no more are matched meanwhile.
import { MATCHED_AT_ANNOTATION, NODE_ANNOTATION } from "../../labels/names.ts";
import type { Claim, Pod } from "../state/objects.ts";
import type { ClusterSnapshot, Refused } from "../state/snapshot.ts";

/** A scheduler that refuses for less time may not know the claim yet, and tries again. */
const REFUSED_FOR_MS = 10_000;
/** A scheduler has caught up when it has looked at all pods that were matched so long ago. */
const BEHIND_AFTER_MS = 10_000;
/** A pod that is unseen for longer tells nothing of the queue: its scheduler may not be there. */
const UNSEEN_AFTER_MS = 120_000;

export class SchedulerQueue {
  readonly #seen: Pick<ClusterSnapshot, "now" | "wallNow" | "refused">;
  readonly #refused = new Map<string, number>();
  readonly #unseen = new Map<string, number>();

  constructor(seen: Pick<ClusterSnapshot, "now" | "wallNow" | "refused">) {
    this.#seen = seen;
  }

  get refused(): Refused {
    return this.#refused;
  }

  /** It is known when all pods were noted. Pods of other schedulers do not count. */
  before(pod: Pod): number {
    return this.#unseen.get(schedulerOf(pod)) ?? 0;
  }

  note(pod: Pod, claim: Claim): boolean {
    const { now, wallNow, refused } = this.#seen;
    if (!waits(pod, claim)) return false;
    if (!isRefused(pod)) {
      const ms = unseenMs(claim, wallNow);
      if (ms > BEHIND_AFTER_MS && ms <= UNSEEN_AFTER_MS)
        this.#unseen.set(schedulerOf(pod), this.before(pod) + 1);
      return false;
    }
    const since = refused.get(pod.metadata.uid) ?? now;
    this.#refused.set(pod.metadata.uid, since);
    return now - since > REFUSED_FOR_MS;
  }
}

export function unseen(pod: Pod, claim: Claim, wallNow: number): string | undefined {
  if (!waits(pod, claim) || isRefused(pod)) return undefined;
  if (unseenMs(claim, wallNow) <= UNSEEN_AFTER_MS) return undefined;
  const { [NODE_ANNOTATION]: node = "" } = claim.metadata.annotations ?? {};
  return `The pod was matched with a GPU of the node ${node} more than two minutes ago, and the scheduler ${schedulerOf(pod)} has not looked at it since: its queue is long, or it does not run.`;
}

/** It waits for the scheduler, which does not look at a pod that has a gate. */
const waits = ({ spec }: Pod, { status }: Claim): boolean =>
  spec.nodeName === undefined && !status?.allocation && !spec.schedulingGates?.length;

/** While the pod had its gate, the condition said that. */
const isRefused = ({ status }: Pod): boolean =>
  status.conditions?.some(
    ({ type, status, reason }) =>
      type === "PodScheduled" && status === "False" && reason !== "SchedulingGated",
  ) === true;

const schedulerOf = ({ spec }: Pod): string => spec.schedulerName ?? "default-scheduler";

function unseenMs({ metadata: { annotations } }: Claim, wallNow: number): number {
  const ms = wallNow - Date.parse(annotations?.[MATCHED_AT_ANNOTATION] ?? "");
  return Number.isNaN(ms) ? Number.POSITIVE_INFINITY : ms;
}
