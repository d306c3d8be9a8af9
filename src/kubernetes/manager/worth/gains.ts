import type { WorkloadRow } from "../../labels/demand.ts";
import { SLOWDOWN_STEPS } from "../../labels/slowdown.ts";
import type { GpuNode, ObservedGpu, Pairing, Pod } from "../state/objects.ts";
import { isBestEffort, isHigh } from "../state/pods.ts";
import type { RowsByNamespace } from "./demands.ts";
import { keyOf, PairRows, type Rows } from "./pair-rows.ts";
import { workloadKey } from "./workload-rows.ts";

export interface Gain {
  gpuSeconds: number;
  readonly evictions: Map<string, number>;
  /** The key is the service, then the step of its slowdown; the value is in seconds. */
  readonly services: Map<string, Map<string, number>>;
  readonly pairs: Rows;
  readonly workloads: Map<string, WorkloadRow>;
}

export const noGain = (): Gain => ({
  ...{ gpuSeconds: 0, evictions: new Map(), services: new Map() },
  ...{ pairs: new Map(), workloads: new Map() },
});

export class Gains {
  #counters = new Map<string, readonly ObservedGpu[]>();
  readonly #evicted = new Set<string>();
  #hasSeen = false;
  readonly #rows = new PairRows();
  #gains = new Map<string, Gain>();

  /** The first sample only shows what was before. */
  observe(nodes: Iterable<GpuNode>, pods: Iterable<Pod>, pairings: Iterable<Pairing>): void {
    const services = new Map<string, Pod>();
    const there = new Set<string>();
    for (const pod of pods) {
      const { uid } = pod.metadata;
      if (isHigh(pod)) services.set(uid, pod);
      if (isBestEffort(pod) && isDisrupted(pod)) {
        if (this.#hasSeen) this.evicted(pod, "other");
        this.#evicted.add(uid);
      }
      if (this.#evicted.has(uid)) there.add(uid);
    }
    for (const uid of this.#evicted) if (!there.has(uid)) this.#evicted.delete(uid);
    const counters = new Map<string, readonly ObservedGpu[]>();
    for (const { metadata, status } of nodes) {
      const gpus = status?.gpus ?? [];
      counters.set(metadata.name, gpus);
      const before = this.#counters.get(metadata.name);
      if (before !== undefined && before !== gpus) this.#compare(before, gpus, services);
    }
    this.#counters = counters;
    this.#hasSeen = true;
    for (const [namespace, rows] of this.#rows.observe(pairings)) {
      const { pairs } = this.#of(namespace);
      for (const row of rows) pairs.set(keyOf(row), row);
    }
  }

  evicted(pod: Pod, cause: string): void {
    const { namespace = "", uid } = pod.metadata;
    if (this.#evicted.has(uid)) return;
    this.#rows.evicted(pod, cause);
    this.#evicted.add(uid);
    const { evictions } = this.#of(namespace);
    evictions.set(cause, (evictions.get(cause) ?? 0) + 1);
  }

  described(byNamespace: RowsByNamespace): void {
    for (const [namespace, rows] of byNamespace) {
      const { workloads } = this.#of(namespace);
      for (const row of rows) workloads.set(workloadKey(row), row);
    }
  }

  reset(): void {
    this.#counters = new Map();
    this.#evicted.clear();
    this.#rows.reset();
    this.#hasSeen = false;
  }

  take(): ReadonlyMap<string, Gain> {
    const all = this.#gains;
    this.#gains = new Map();
    return all;
  }

  #compare(
    before: readonly ObservedGpu[],
    now: readonly ObservedGpu[],
    services: ReadonlyMap<string, Pod>,
  ): void {
    const old = new Map(before.map((gpu) => [gpu.uuid, gpu]));
    for (const { uuid, podUid = "", recovered = [], slowdownSeconds = {} } of now) {
      const last = old.get(uuid);
      const known = new Map(last?.recovered?.map((one) => [one.podUid, one.gpuSeconds]));
      for (const { podUid: pod, namespace, gpuSeconds } of recovered) {
        const grown = growth(known.get(pod), gpuSeconds);
        if (grown > 0) this.#of(namespace).gpuSeconds += grown;
      }
      const service = services.get(podUid);
      if (service === undefined) continue;
      const seconds = last?.podUid === podUid ? last.slowdownSeconds : undefined;
      for (const step of SLOWDOWN_STEPS) {
        const grown = growth(seconds?.[step], slowdownSeconds[step] ?? 0);
        if (grown > 0) this.#count(service, String(step), grown);
      }
    }
  }

  #count({ metadata, spec }: Pod, step: string, seconds: number): void {
    const { services } = this.#of(metadata.namespace ?? "");
    const name = spec.workload ?? metadata.name;
    const steps = services.get(name) ?? new Map<string, number>();
    services.set(name, steps.set(step, (steps.get(step) ?? 0) + seconds));
  }

  #of(namespace: string): Gain {
    let gain = this.#gains.get(namespace);
    if (gain === undefined) {
      gain = noGain();
      this.#gains.set(namespace, gain);
    }
    return gain;
  }
}

/** A counter that is smaller than before began again at 0. */
const growth = (before: number | undefined, now: number): number =>
  before === undefined || now < before ? now : now - before;

/** Kubernetes says so of a pod that is evicted, by whoever. */
const isDisrupted = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status: is }) => type === "DisruptionTarget" && is === "True") ??
  false;
