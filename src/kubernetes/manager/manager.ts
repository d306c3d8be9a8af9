import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { wallNow } from "#core";
import type { Predictor } from "#predict";
import { type Api, ApiError } from "../api/client.ts";
import { eventAbout } from "../api/event.ts";
import { type Leadership, leadership } from "../api/lease.ts";
import { paced } from "../api/paced.ts";
import { MANAGER_LEASE, SYSTEM_NAMESPACE } from "../labels/names.ts";
import type { PairRow } from "../labels/pair.ts";
import { carryOut } from "./act.ts";
import { type Advice, adviceFor } from "./advice.ts";
import { type Explanation, Explanations, explain, matchedNow } from "./explain.ts";
import { PairLearner } from "./learning/learner.ts";
import { Learning } from "./learning/learning.ts";
import { nextInterval, type Wait } from "./matching/waiting.ts";
import { ManagerMetrics } from "./metrics.ts";
import { type PairingChange, pairingChanges, pairingWrite } from "./pairings.ts";
import { type Action, plan } from "./plan.ts";
import { Evictions } from "./scheduling/evictions.ts";
import type { Pairing } from "./state/objects.ts";
import { ServicePeaks } from "./state/peaks.ts";
import { isBestEffort, isGated } from "./state/pods.ts";
import type { ClusterSnapshot } from "./state/snapshot.ts";
import { type View, viewOf } from "./view.ts";
import { Gains } from "./worth/gains.ts";
import { Reports } from "./worth/reports.ts";

export interface ManagerOptions {
  readonly intervalMs?: number | undefined;
  /** Without one, the turn bound is all that is known. */
  readonly predictor?: Predictor | undefined;
  readonly metrics?: ManagerMetrics | undefined;
}

/** The API server allows a client some dozens of requests at a time before it makes it wait. */
const AT_ONCE = 16;
const WRITES_PER_SECOND = 100;
const FORBIDDEN = 403;
const SHORT_MS = 1000;
/** The next interval decides again about the rest: thousands of matches take minutes. */
const ACTS_FOR_MS = 20_000;
const MAX_ADVICE = 100;

/** Failures are said, and tried again in the next interval, until the signal aborts. */
export async function manage(
  api: Api,
  { intervalMs, predictor, metrics = new ManagerMetrics() }: ManagerOptions,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  // Each kind has a watch that listens, and so has the Lease.
  setMaxListeners(50, signal);
  const lease = leadership(
    api,
    {
      ...{ namespace: SYSTEM_NAMESPACE, name: MANAGER_LEASE, say },
      identity: `${hostname()}-${randomUUID()}`,
      now: monotonic,
    },
    signal,
  );
  const learner = new PairLearner();
  const view = viewOf(api, predictor, learner, signal, say);
  const manager = new Manager(api, view, learner, lease, metrics, say);
  let interval = 1000;
  while (!signal.aborted) {
    try {
      const seconds = await manager.reconcile();
      interval = intervalMs ?? 1000 * seconds;
    } catch (error) {
      say(
        `an interval was broken off: ${error instanceof Error ? (error.stack ?? error.message) : error}`,
      );
    }
    await wait(interval, undefined, { signal }).catch(() => {}); // it was aborted
  }
  await Promise.all([lease.ended, manager.end()]);
}

const monotonic = (): number => performance.now();

class Manager {
  readonly #api: Api;
  readonly #view: View;
  readonly #lease: Leadership;
  readonly #metrics: ManagerMetrics;
  readonly #say: (line: string) => void;
  readonly #explanations = new Explanations();
  readonly #advised = new Map<string, Set<string>>();
  readonly #evictions = new Evictions();
  readonly #gains = new Gains();
  readonly #reports: Reports;
  readonly #peaks: ServicePeaks;
  readonly #learning: Learning;
  readonly #learner: PairLearner;

  constructor(
    api: Api,
    view: View,
    learner: PairLearner,
    lease: Leadership,
    metrics: ManagerMetrics,
    say: (line: string) => void,
  ) {
    this.#api = paced(api, WRITES_PER_SECOND, () => metrics.writes++);
    this.#view = view;
    this.#lease = lease;
    this.#metrics = metrics;
    this.#say = say;
    this.#reports = new Reports(this.#api);
    this.#peaks = new ServicePeaks(this.#api, view.memories);
    this.#learner = learner;
    this.#learning = new Learning(this.#api, learner);
  }

  /** Resolves to the seconds until the next interval. */
  async reconcile(): Promise<number> {
    const isLeader = this.#lease.holds();
    this.#metrics.isLeader = isLeader;
    if (!isLeader) {
      this.#gains.reset();
      this.#learning.reset();
      return 1;
    }
    if (!this.#view.synced) {
      await this.#explainAll(blindness(this.#view));
      return 1;
    }
    await this.#each([this.#peaks], (peaks) => peaks.read());
    if (!this.#learning.hasStarted)
      await this.#each([this.#view.seen(monotonic(), wallNow())], async (one) =>
        this.#trained(await this.#learning.start(one, monotonic)),
      );
    const began = monotonic();
    const seen = this.#view.seen(began, wallNow());
    const { actions, waits, noted, gpus } = plan(seen, {
      ...{ counts: this.#learning.counts, random: Math.random },
    });
    this.#metrics.decisionSeconds = (monotonic() - began) / 1000;
    this.#metrics.gpus = gpus;
    this.#sayDecided(monotonic() - began, actions, waits);
    this.#view.remember(noted);
    const end = monotonic() + ACTS_FOR_MS;
    const late: Wait[] = [];
    await this.#each(this.#within(actions, seen), async (action) => {
      if (monotonic() < end) await this.#act(action, seen);
      else if (action.kind === "claim") late.push({ pod: action.pod, ...nextInterval });
    });
    const all = [...waits, ...late];
    this.#metrics.waiting = countBy(all, ({ reason }) => reason);
    // This includes what was just written.
    const now = this.#view.seen(monotonic(), wallNow());
    await this.#each(pairingChanges(now), (change) => this.#pair(change));
    await this.#explainAll(all);
    const isNew = ({ pod, reason }: Advice) =>
      this.#advised.get(pod.metadata.uid)?.has(reason) !== true;
    await this.#each(adviceFor(now).filter(isNew).slice(0, MAX_ADVICE), (one) => this.#advise(one));
    await this.#report(now);
    await this.#each([now], ({ now: at }) => this.#peaks.write(at));
    this.#forget(seen);
    return seen.policy.intervalSeconds;
  }

  #sayDecided(tookMs: number, actions: readonly Action[], waits: readonly Wait[]): void {
    const matched = actions.filter(({ kind }) => kind === "claim").length;
    if (matched === 0 && tookMs < SHORT_MS) return;
    this.#say(
      `decided in ${(tookMs / 1000).toFixed(2)} s: ${matched} pods are matched, ${waits.length} wait.`,
    );
  }

  async #explainAll(waits: readonly Wait[]): Promise<void> {
    const due = this.#explanations.due(waits, monotonic(), wallNow());
    await this.#each(due, (one) => this.#explain(one));
  }

  async #advise({ pod, reason, message }: Advice): Promise<void> {
    await this.#api.create(...eventAbout(pod, reason, message, wallNow()));
    const { uid } = pod.metadata;
    this.#advised.set(uid, (this.#advised.get(uid) ?? new Set()).add(reason));
  }

  #within(actions: readonly Action[], { policy }: ClusterSnapshot): readonly Action[] {
    const now = monotonic();
    let left = this.#evictions.left(policy.evictionsPerMinute, now);
    return actions.filter(
      (action) =>
        !isEviction(action) || (this.#evictions.isDue(action.pod.metadata.uid, now) && left-- > 0),
    );
  }

  async #act(action: Action, seen: ClusterSnapshot): Promise<void> {
    const { pod, kind, node } = action;
    const view = this.#view;
    const written = { claim: view.claims.put, pod: view.pods.put };
    const { namespace = "" } = pod.metadata;
    // Another claim of this interval may have been refused there.
    if (kind === "claim" && seen.refusal(namespace) !== undefined) return;
    const isAllowed = () => this.#lease.holds();
    try {
      const done = await carryOut(this.#api, action, wallNow(), written, isAllowed);
      if (!done) return;
    } catch (error) {
      if (kind === "claim" && error instanceof ApiError && error.status === FORBIDDEN)
        view.refuse(namespace, error.message, monotonic());
      if (isEviction(action) && error instanceof ApiError)
        this.#evictions.refused(pod.metadata.uid, monotonic());
      throw error;
    }
    this.#say(`${sentenceOf(action)}.`);
    if (isEviction(action)) {
      this.#evictions.done(pod.metadata.uid, monotonic());
      this.#metrics.evicted(kind);
      this.#gains.evicted(pod, kind);
    }
    if (kind === "claim") {
      this.#metrics.matches += 1;
      if (action.choice?.explored) this.#metrics.explorations += 1;
      this.#learning.matched(action.choice?.explored === true);
    }
    if (kind === "give-up" && node !== "") view.avoid(pod, node, monotonic());
    if (kind === "harm") view.slowed(pod, action.service, monotonic());
    if (kind === "move") view.keep(pod, action.gpu, action.memoryBytes, monotonic());
    if (kind === "claim") view.taken(pod, action.gpu);
    const corrected = kind === "claim" || kind === "release" ? matchedNow(pod, node) : undefined;
    if (corrected) await this.#explain(corrected);
  }

  async #report(seen: ClusterSnapshot): Promise<void> {
    const { gpuNodes, pods, pairings, now } = seen;
    this.#gains.observe(gpuNodes, pods, pairings);
    if (this.#learning.hasStarted)
      this.#gains.described(this.#learner.demands.observe(gpuNodes, pods, wallNow()));
    const gained = this.#gains.take();
    for (const [namespace, { gpuSeconds }] of gained)
      this.#metrics.recovered(namespace, gpuSeconds);
    const rows = [...gained.values()].flatMap(({ pairs }) => [...pairs.values()]);
    await this.#each([rows], (some) => this.#learn(some, seen));
    await this.#each(this.#reports.due(gained, now), (namespace) =>
      this.#reports.write(namespace, now, wallNow()),
    );
  }

  async #learn(rows: readonly PairRow[], seen: ClusterSnapshot): Promise<void> {
    this.#trained(await this.#learning.train(rows, seen, monotonic));
  }

  #trained(tookMs: number | undefined): void {
    if (tookMs !== undefined) this.#metrics.trainingSeconds = tookMs / 1000;
  }

  /** It needs no Lease: a report is replaced only as it was read. */
  async end(): Promise<void> {
    const said = (error: unknown) =>
      this.#say(`not done: ${error instanceof Error ? error.message : error}`);
    await this.#peaks.write(Number.POSITIVE_INFINITY).catch(said);
    for (const namespace of this.#reports.pending)
      await this.#reports.write(namespace, monotonic(), wallNow()).catch(said);
  }

  async #pair(change: PairingChange): Promise<void> {
    const { path, object } = pairingWrite(change);
    const write =
      change.kind === "create" ? this.#api.create<Pairing> : this.#api.mergePlain<Pairing>;
    this.#view.pairings.put(await write(path, object));
  }

  async #explain(one: Explanation): Promise<void> {
    this.#view.pods.put(await explain(this.#api, one, wallNow()));
    this.#explanations.told(one.pod, monotonic());
  }

  /** It ends when this manager loses the Lease. A refusal is said. */
  async #each<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
    const rest = all.values();
    const work = async () => {
      for (const one of rest) {
        if (!this.#lease.holds()) return;
        try {
          await act(one);
        } catch (error) {
          // Somebody changed what was seen, or the API server is away: the next sample tells.
          this.#metrics.apiErrors += 1;
          this.#say(`not done: ${error instanceof Error ? error.message : error}`);
          if (!(error instanceof ApiError)) return;
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  #forget({ pods }: ClusterSnapshot): void {
    const there = new Set([...pods].map(({ metadata }) => metadata.uid));
    for (const uid of this.#advised.keys()) if (!there.has(uid)) this.#advised.delete(uid);
    this.#explanations.keep(there, monotonic());
    this.#evictions.keep(there);
  }
}

function countBy<T>(all: readonly T[], keyOf: (one: T) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const one of all) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1);
  return counts;
}

const isEviction = ({ kind }: Action): boolean => kind !== "claim" && kind !== "release";

function blindness({ pods, problem }: View): readonly Wait[] {
  if (problem === undefined) return [];
  const message = `The manager can't see the cluster: ${problem}. If Cotenant's kinds are missing or of another version, run cotenant cluster install of the manager's version.`;
  return [...pods.values()]
    .filter((pod) => isBestEffort(pod) && isGated(pod))
    .map((pod) => ({ pod, reason: "ManagerNotReady", message }));
}

function sentenceOf({ kind, pod, node }: Action): string {
  const { namespace, name } = pod.metadata;
  const what = {
    claim: "matched with",
    release: "released to",
    "give-up": "given up on",
    move: "evicted so that its next pod begins on",
    crowded: "evicted to make room for the service on",
    harm: "evicted because it slowed the service on",
    drain: "drained from",
  };
  return `${namespace}/${name} ${what[kind]} the node ${node || "of a lost claim"}`;
}
