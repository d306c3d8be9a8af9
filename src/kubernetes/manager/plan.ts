// The claim is the decision, so a manager that is restarted goes on.
import { decide, weightOf } from "#place";
import { memoryOf } from "../labels/memory.ts";
import {
  EXCLUDED_LABEL,
  EXCLUDED_NAMESPACES,
  NODE_ANNOTATION,
  PROFILE_ANNOTATION,
} from "../labels/names.ts";
import type { Choice } from "../labels/pair.ts";
import {
  choices,
  type ExplorationOptions,
  explore,
  exploringOn,
  mayExplore,
} from "./learning/explore.ts";
import { inOrder } from "./matching/order.ts";
import { rulesOf } from "./matching/rules.ts";
import { reasons, type Wait, type WaitingPod, waitingPod } from "./matching/waiting.ts";
import { type Crowding, crowdedIn } from "./moves/crowded.ts";
import { type Harm, harmIn } from "./moves/harm.ts";
import {
  type MovablePod,
  type Move,
  movableJob,
  moveCostSeconds,
  moveOf,
  runningNow,
} from "./moves/moves.ts";
import { unpinned } from "./moves/pinned.ts";
import { SchedulerQueue } from "./scheduling/queue.ts";
import type { Claim, Namespace, Pod } from "./state/objects.ts";
import { claimKeyIn, isBestEffort, isGated, keyOf, otherGatesOf } from "./state/pods.ts";
import { selects } from "./state/policy.ts";
import { freeOn } from "./state/requests.ts";
import { seatsIn } from "./state/seats.ts";
import type { CarriedState, ClusterSnapshot } from "./state/snapshot.ts";

export type Action =
  | {
      readonly kind: "claim";
      pod: Pod;
      node: string;
      gpu: string;
      memoryBytes: number;
      choice?: Choice;
    }
  | { readonly kind: "release"; pod: Pod; node: string }
  /** Without a claim, the scheduler never can take the pod. */
  | { readonly kind: "give-up"; pod: Pod; claim: Claim | undefined; node: string }
  | Move
  | Crowding
  | Harm
  | { readonly kind: "drain"; pod: Pod; node: string };

export interface Plan {
  readonly actions: readonly Action[];
  readonly waits: readonly Wait[];
  readonly noted: CarriedState;
  /** The key is what keeps pods from them before this plan; `open`: nothing does. */
  readonly gpus: Readonly<Record<string, number>>;
}

export function plan(seen: ClusterSnapshot, exploration?: ExplorationOptions): Plan {
  const { policy } = seen;
  const namespaces = new Map([...seen.namespaces].map((one) => [one.metadata.name, one]));
  const claims = new Map([...seen.claims].map((claim) => [keyOf(claim), claim]));
  const actions: Action[] = [];
  const waits: Wait[] = [];
  const waiting: WaitingPod[] = [];
  const movable: MovablePod[] = [];
  const placed: Pod[] = [];
  const having = new Map<string, number>();
  const queue = new SchedulerQueue(seen);
  for (const pod of seen.pods) {
    const namespace = namespaces.get(pod.metadata.namespace ?? "");
    if (!isBestEffort(pod) || namespace === undefined || isExcluded(namespace)) continue;
    if (pod.metadata.deletionTimestamp !== undefined) continue;
    const claim = claims.get(claimKeyIn(pod));
    if (claim) having.set(namespace.metadata.name, (having.get(namespace.metadata.name) ?? 0) + 1);
    if (!isGated(pod)) {
      const action = policy.drain ? drained(pod) : stranded(pod, claim, queue);
      if (action === undefined && claim && pod.spec.nodeName !== undefined) placed.push(pod);
      if (action) actions.push(action);
      else if (claim) movable.push(...movableOf(pod, claim, namespace, seen));
    } else if (claim) {
      const node = claim.metadata.annotations?.[NODE_ANNOTATION] ?? "";
      actions.push({ kind: "release", pod, node });
    } else {
      const memoryBytes = memoryOf(pod.metadata);
      const wait = obstacleFor(pod, namespace, memoryBytes, seen);
      if (wait) waits.push({ pod, ...wait });
      else waiting.push(waitingPod(pod, memoryBytes ?? 0, seen));
    }
  }
  const isNext = ({ pod }: { readonly pod: Pod }) => queue.before(pod) === 0;
  for (const one of waiting)
    if (!isNext(one)) waits.push({ pod: one.pod, ...behind(queue.before(one.pod)) });
  const all = seatsIn(seen);
  const { because: _, ...closed } = all.without;
  const gpus = { ...closed, open: all.seats.length };
  const { evictions, crowded } = crowdedIn(seen, policy.dryRun ? [] : placed, all.served);
  const crowding = new Set(evictions.map(({ pod }) => pod));
  const staying = placed.filter((pod) => !crowding.has(pod));
  const harm = harmIn(seen, policy.dryRun ? [] : staying, all.served);
  actions.push(...evictions, ...harm.evictions);
  const gone = new Set([...crowding, ...harm.evictions.map(({ pod }) => pod)]);
  const moving = movable.filter((one) => isNext(one) && !gone.has(one.pod));
  const ordered = inOrder(waiting.filter(isNext), having);
  const matched = matches(seen, all, ordered, moving, exploration);
  const noted = {
    ...{ losing: matched.losing, refused: queue.refused, crowded },
    sharers: harm.sharers,
  };
  if (!policy.dryRun) {
    // Evictions by which nobody gains come last, since there may be only so many a minute.
    return {
      actions: [...actions, ...matched.claims, ...matched.moves],
      waits: [...waits, ...matched.waits],
      ...{ noted, gpus },
    };
  }
  const would = matched.claims.map(({ pod, node, gpu }) => ({
    pod,
    reason: "DryRun",
    message: `It would be matched with the GPU ${gpu} of the node ${node}, but the SharingPolicy says dryRun.`,
  }));
  return { actions, waits: [...waits, ...would, ...matched.waits], noted, gpus };
}

const MAX_GATES = 5;

function obstacleFor(
  pod: Pod,
  { metadata }: Namespace,
  memoryBytes: number | undefined,
  { policy, forecasts, refusal, volumeDemand }: ClusterSnapshot,
): Omit<Wait, "pod"> | undefined {
  if (policy.drain || policy.paused)
    return {
      reason: "Paused",
      message: `Nothing is matched while the SharingPolicy says ${policy.drain ? "drain" : "paused"}.`,
    };
  if (!selects(policy.namespaceSelector, metadata.labels))
    return {
      reason: "NamespaceNotSelected",
      message: `The SharingPolicy does not select the namespace ${metadata.name}: label it, or change namespaceSelector.`,
    };
  const gates = otherGatesOf(pod);
  if (gates.length > 0)
    return {
      reason: "OtherGates",
      message: `It is matched when nobody else keeps it from the scheduler any more. It has the scheduling gates ${gates.slice(0, MAX_GATES).join(", ")}: see to it that who has set them removes them.`,
    };
  if (pod.spec.isTooLarge)
    return {
      reason: "TooLarge",
      message:
        "Its nodeSelector, tolerations and affinity are longer than 32 KiB together: create it again with fewer terms.",
    };
  if (memoryBytes === undefined)
    return {
      reason: "NoMemoryStated",
      message:
        "The pod does not say how much GPU memory it may use: create it again with the annotation cotenant.io/memory, such as 20Gi.",
    };
  const refused = refusal(metadata.name);
  if (refused !== undefined)
    return {
      reason: "ClaimRefused",
      message: `The API server refuses claims in the namespace ${metadata.name}, and is asked again each minute: ${refused}`,
    };
  const { problem } = volumeDemand(pod);
  if (problem !== undefined) return { reason: "NoVolume", message: problem };
  const profile = pod.metadata.annotations?.[PROFILE_ANNOTATION];
  if (profile !== undefined && forecasts.profileOf(pod) === undefined)
    return {
      reason: "NoProfile",
      message: `There is no WorkloadProfile ${profile} in the namespace ${metadata.name}: create it, or create the pod without ${PROFILE_ANNOTATION}.`,
    };
  return undefined;
}

const behind = (pods: number) => ({
  reason: "SchedulerBehind",
  message: `The scheduler has ${pods === 1 ? "a pod" : `${pods} pods`} in its queue for more than ten seconds: this one is matched when it has looked at all that were matched before.`,
});

function stranded(pod: Pod, claim: Claim | undefined, queue: SchedulerQueue): Action | undefined {
  if (claim === undefined)
    return pod.spec.nodeName === undefined ? { kind: "give-up", pod, claim, node: "" } : undefined;
  const { [NODE_ANNOTATION]: node = "" } = claim.metadata.annotations ?? {};
  return queue.note(pod, claim) ? { kind: "give-up", pod, claim, node } : undefined;
}

const drained = (pod: Pod): Action | undefined =>
  pod.status.phase === "Succeeded" || pod.status.phase === "Failed"
    ? undefined
    : { kind: "drain", pod, node: pod.spec.nodeName ?? "" };

function movableOf(
  pod: Pod,
  claim: Claim,
  namespace: Namespace,
  seen: ClusterSnapshot,
): readonly MovablePod[] {
  const costSeconds = moveCostSeconds(pod);
  const { nodeName } = pod.spec;
  if (costSeconds === undefined || nodeName === undefined || seen.policy.dryRun) return [];
  const memoryBytes = memoryOf(pod.metadata);
  // Its next pod would wait.
  if (memoryBytes === undefined || obstacleFor(pod, namespace, memoryBytes, seen)) return [];
  if (pod.status.phase !== "Running") return [];
  const again = waitingPod(unpinned(pod, nodeName), memoryBytes, seen, seen.failedOn(pod));
  return [{ pod, claim, costSeconds, again }];
}

function matches(
  seen: ClusterSnapshot,
  { seats, served, without }: ReturnType<typeof seatsIn>,
  ordered: readonly WaitingPod[],
  movable: readonly MovablePod[],
  exploration: ExplorationOptions | undefined,
) {
  if (ordered.length === 0 && movable.length === 0)
    return { claims: [], waits: [], moves: [], losing: new Map() };
  const { policy, now, losing, kept } = seen;
  const free = freeOn(seen.nodes, seen.pods);
  const rules = rulesOf(seen, free);
  const running = runningNow(seen, served);
  const exploring = exploringOn(seen);
  const open = seats.filter(({ uuid }) => !exploring.has(uuid));
  const explored = exploration && explore(exploration, seen, ordered, { open, served }, rules);
  const choiceFor = choices(
    open.map((seat) => ({ ...seat })),
    rules,
    exploration !== undefined && mayExplore(exploration.counts),
  );
  const decided = decide({
    waiting: ordered.filter((one) => one !== explored?.job),
    open: open.filter((one) => one !== explored?.gpu),
    ...{ served, kept, rules },
    movable: movable.flatMap((one) => movableJob(one, running.of(one.pod), seen.wallNow)),
    moves: { ...policy, ...{ now, losing }, sumOn: running.sumOn },
  });
  const placed = [
    ...(explored ? [explored] : []),
    ...decided.placed.map((one) => ({ ...one, choice: choiceFor(one.job) })),
  ];
  const claims = placed.map(({ job: { pod, memoryBytes }, gpu: { node, uuid }, choice }) => ({
    ...{ kind: "claim" as const, pod, memoryBytes, choice },
    ...{ node: node.metadata.name, gpu: uuid },
  }));
  const gone = new Set(placed.map(({ job }) => job));
  const why = reasons(seats, without, free, (seat, one) => weightOf(seat, one, rules));
  return {
    ...{ claims, moves: decided.moves.map(moveOf), losing: decided.losing },
    waits: ordered.filter((one) => !gone.has(one)).map(why),
  };
}

export const isExcluded = ({ metadata: { name, labels = {} } }: Namespace): boolean =>
  EXCLUDED_NAMESPACES.includes(name) || EXCLUDED_LABEL in labels;
