// Kubernetes itself says nothing about a pod with a scheduling gate.
import { dateNow } from "#core";
import type { Api } from "../api/client.ts";
import { eventAbout } from "../api/event.ts";
import { MATCHED_CONDITION } from "../labels/names.ts";
import type { Wait } from "./matching/waiting.ts";
import type { Condition, Pod } from "./state/objects.ts";
import { controllerOf } from "./state/pods.ts";

/** A pod that is matched at once needs no explanation. */
const WAITED_MS = 10_000;
/** The pause doubles before each further sentence. Sentences with other counts are none. */
const AGAIN_MS = 30_000;
const MAX_AGAIN_MS = 600_000;
/** At this rate 20,000 pods are told within five minutes. */
const CONDITIONS_PER_SECOND = 75;
const EVENTS_PER_SECOND = 10;
/** An interval makes up for this many seconds at most. */
const MAX_SECONDS = 60;
const FIRST_SECONDS = 5;
/** So few say nothing of how fast the API server takes them. */
const RATED_FROM = 50;
/** By these a pod's turn comes later. They change from one interval to the next. */
const LATER: ReadonlySet<string> = new Set(["NextInterval", "SchedulerBehind"]);
/** Pods of one controller get the event of a reason once in this time: each has the condition. */
const EVENT_EVERY_MS = 600_000;

export interface Explanation {
  readonly pod: Pod;
  readonly condition: Condition;
  readonly hasEvent: boolean;
}

/** The newest pods come first, and nothing is told twice. */
export class Explanations {
  /** The key is the UID; times are monotonic, ms. */
  readonly #told = new Map<string, { readonly at: number; readonly times: number }>();
  readonly #events = new Map<string, number>();
  #last: number | undefined;
  #lastCount = 0;
  #lastToldAt = Number.NEGATIVE_INFINITY;

  /** `now` is in monotonic ms, `wallNow` in ms since 1970. */
  due(waits: readonly Wait[], now: number, wallNow: number): readonly Explanation[] {
    const seconds =
      this.#last === undefined ? FIRST_SECONDS : Math.min(MAX_SECONDS, (now - this.#last) / 1000);
    const most = this.#mostBeside(now);
    this.#last = now;
    this.#lastCount = 0;
    const first: Wait[] = [];
    const again: Wait[] = [];
    const saysOther = comparison();
    for (const one of waits) {
      const before = conditionOf(one.pod);
      if (before?.status !== "False") {
        if (wallNow - Date.parse(one.pod.metadata.creationTimestamp) >= WAITED_MS) first.push(one);
      } else if (saysOther(before, one) && this.#isDue(one.pod, now)) again.push(one);
    }
    const count = Math.ceil(Math.min(CONDITIONS_PER_SECOND * seconds, most));
    // New pods, however many, do not keep others from hearing what has changed.
    const kept = Math.min(again.length, Math.floor(count / 4));
    first.sort((a, b) => (createdAt(a) < createdAt(b) ? 1 : -1));
    again.sort((a, b) => this.#toldAt(a.pod) - this.#toldAt(b.pod));
    let events = Math.ceil(EVENTS_PER_SECOND * seconds);
    return [...first.slice(0, count - kept), ...again].slice(0, count).map((one) => {
      const { pod, reason, message } = one;
      const hasEvent =
        events > 0 && conditionOf(pod)?.reason !== reason && this.#takesEvent(one, now);
      if (hasEvent) events--;
      const condition = { type: MATCHED_CONDITION, status: "False", reason, message };
      return { pod, condition, hasEvent };
    });
  }

  told({ metadata: { uid } }: Pod, now: number): void {
    this.#lastCount++;
    this.#lastToldAt = now;
    this.#told.set(uid, { at: now, times: (this.#told.get(uid)?.times ?? 0) + 1 });
  }

  keep(there: ReadonlySet<string>, now: number): void {
    for (const uid of this.#told.keys()) if (!there.has(uid)) this.#told.delete(uid);
    for (const [key, at] of this.#events) if (now - at >= EVENT_EVERY_MS) this.#events.delete(key);
  }

  /**
   * As many as a slow API server takes in the time that the rest of an interval needed, so that pods are
   * matched meanwhile. Otherwise a long interval would make the next one longer.
   */
  #mostBeside(now: number): number {
    const tookMs = this.#lastToldAt - (this.#last ?? now);
    if (this.#lastCount < RATED_FROM || tookMs <= 0) return Number.POSITIVE_INFINITY;
    const restMs = Math.max(now - this.#lastToldAt, 1000 * FIRST_SECONDS);
    return (this.#lastCount / tookMs) * restMs;
  }

  #isDue({ metadata: { uid } }: Pod, now: number): boolean {
    const { at = Number.NEGATIVE_INFINITY, times = 0 } = this.#told.get(uid) ?? {};
    return now - at >= Math.min(MAX_AGAIN_MS, AGAIN_MS * 2 ** Math.max(0, times - 1));
  }

  #toldAt({ metadata: { uid } }: Pod): number {
    return this.#told.get(uid)?.at ?? Number.NEGATIVE_INFINITY;
  }

  #takesEvent({ pod, reason }: Wait, now: number): boolean {
    const key = `${controllerOf(pod)} ${reason}`;
    if (now - (this.#events.get(key) ?? Number.NEGATIVE_INFINITY) < EVENT_EVERY_MS) return false;
    this.#events.set(key, now);
    return true;
  }
}

const createdAt = ({ pod }: Wait): string => pod.metadata.creationTimestamp;

/** Counts in a sentence change all the time, and are nothing else to tell. */
function comparison(): (before: Condition, wait: Wait) => boolean {
  // Thousands of pods have the same sentence.
  const known = new Map<string, string>();
  const withoutCounts = (sentence: string): string => {
    const words = known.get(sentence) ?? sentence.replaceAll(/\d+/g, "");
    known.set(sentence, words);
    return words;
  };
  return (before, { reason, message }) =>
    before.reason === reason
      ? withoutCounts(before.message ?? "") !== withoutCounts(message)
      : !(LATER.has(before.reason ?? "") && LATER.has(reason));
}

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
        hasEvent: false,
      }
    : undefined;

/** Resolves to the pod as it is then. Rejects with an ApiError when the API server refuses. */
export async function explain(
  api: Api,
  { pod, condition, hasEvent }: Explanation,
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
  if (hasEvent)
    await api.create(...eventAbout(pod, condition.reason ?? "", condition.message ?? "", wallNow));
  return written;
}

const conditionOf = ({ status }: Pod): Condition | undefined =>
  status.conditions?.find(({ type }) => type === MATCHED_CONDITION);
