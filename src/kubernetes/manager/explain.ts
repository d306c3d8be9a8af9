// Says of each pod that goes on waiting why it does: a condition of the pod and an event. Kubernetes itself says nothing
// about a pod with a scheduling gate.
import { dateNow } from "#core";
import type { Api } from "../api/client.ts";
import { eventAbout } from "../api/event.ts";
import { MATCHED_CONDITION } from "../labels/names.ts";
import type { Wait } from "./matching/waiting.ts";
import type { Condition, Pod } from "./state/objects.ts";

/** A pod that is matched at once needs no explanation. */
const WAITED_MS = 10_000;
/** Sentences for the same reason: one with other counts, which change all the time, and one that says something else. */
const OTHER_COUNTS_EACH_MS = 300_000;
const OTHER_WORDS_EACH_MS = 30_000;
/** Explanations never delay matches: so many are written in an interval, and the rest in the next ones. */
const MAX_CONCURRENT = 100;

export interface Explanation {
  readonly pod: Pod;
  readonly condition: Condition;
  /** Whether an event tells it too: when the reason is another one. */
  readonly isNew: boolean;
}

/** Which explanations are to be written now. `saidAt`: when a pod, by UID, was last told something; ms as `wallNow`. */
export function explanations(
  waits: readonly Wait[],
  wallNow: number,
  saidAt: (uid: string) => number | undefined,
): readonly Explanation[] {
  const due: Explanation[] = [];
  for (const { pod, reason, message } of waits) {
    if (due.length === MAX_CONCURRENT) break;
    if (wallNow - Date.parse(pod.metadata.creationTimestamp) < WAITED_MS) continue;
    const before = conditionOf(pod);
    const isNew = before?.status !== "False" || before.reason !== reason;
    const said = saidAt(pod.metadata.uid) ?? Number.NEGATIVE_INFINITY;
    if (!isNew && (before.message === message || wallNow - said < leastWait(before, message)))
      continue;
    due.push({
      pod,
      condition: { type: MATCHED_CONDITION, status: "False", reason, message },
      isNew,
    });
  }
  return due;
}

const leastWait = ({ message = "" }: Condition, other: string): number =>
  withoutCounts(message) === withoutCounts(other) ? OTHER_COUNTS_EACH_MS : OTHER_WORDS_EACH_MS;

const withoutCounts = (sentence: string): string => sentence.replaceAll(/\d+/g, "");

/** Corrects the condition of a pod that was matched after it had been told why it waits. */
export const matchedNow = (pod: Pod, node: string): Explanation | undefined =>
  conditionOf(pod)?.status === "False"
    ? {
        pod,
        condition: {
          type: MATCHED_CONDITION,
          status: "True",
          reason: "Matched",
          message: `It has a part of a GPU of the node ${node}.`,
        },
        isNew: false,
      }
    : undefined;

/** Resolves to the pod as it is then. Rejects with an ApiError when the API server refuses. */
export async function explain(
  api: Api,
  { pod, condition, isNew }: Explanation,
  wallNow: number,
): Promise<Pod> {
  const { namespace = "", name, uid } = pod.metadata;
  const before = conditionOf(pod);
  const changed =
    before?.status === condition.status
      ? {}
      : { lastTransitionTime: dateNow().replace(/\.\d+Z$/, "Z") };
  const written = await api.merge<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}/status`, {
    metadata: { uid },
    status: { conditions: [{ ...condition, ...changed }] },
  });
  if (isNew)
    await api.create(...eventAbout(pod, condition.reason ?? "", condition.message ?? "", wallNow));
  return written;
}

const conditionOf = ({ status }: Pod): Condition | undefined =>
  status.conditions?.find(({ type }) => type === MATCHED_CONDITION);
