// A workload that was seen once is known when it comes again, on any node (decision 0052).
import type { DemandFigures, WorkloadRow } from "../../labels/demand.ts";
import type { GpuNode, Pod } from "../state/objects.ts";
import { isHigh, workloadOf } from "../state/pods.ts";

/** Workloads that a manager keeps; each is some hundred bytes. */
const MAX_WORKLOADS = 15_000;
/** A row is written again after this time if it has changed, so that reports are written seldom. */
const AGAIN_MS = 1_200_000;
/** Reports of former weeks are deleted at last, so what has not changed is written again, too. */
const UNCHANGED_MS = 604_800_000;
const MIN_BUSY_CHANGE = 0.05;
/** It is a part of what was known. */
const MIN_CHANGE = 0.1;

export type RowsByNamespace = ReadonlyMap<string, readonly WorkloadRow[]>;

interface KeptRow {
  row: WorkloadRow;
  /** It is in ms since 1970. */
  writtenAt: number;
  written: WorkloadRow | undefined;
}

export class WorkloadDemands {
  readonly #known = new Map<string, KeptRow>();
  readonly #jobs = new Set<string>();

  /** Rows of reports, in any order. */
  recall(rows: Iterable<WorkloadRow>): void {
    for (const row of rows) {
      const before = this.#known.get(keyOf(row));
      if (before && before.row.at >= row.at) continue;
      this.#keep(row, { written: row, writtenAt: Date.parse(row.at) });
    }
  }

  /** Returns the rows that are due to be written, by namespace. `wallNow`: ms since 1970. */
  observe(nodes: Iterable<GpuNode>, pods: Iterable<Pod>, wallNow: number): RowsByNamespace {
    const byUid = new Map([...pods].map((pod) => [pod.metadata.uid, pod]));
    const due = new Map<string, WorkloadRow[]>();
    for (const { metadata, status } of nodes)
      for (const { model, clients = [] } of status?.gpus ?? [])
        for (const { podUid, ...figures } of clients) {
          const pod = byUid.get(podUid);
          // A node part speaks of pods of its own node alone.
          if (pod?.spec.nodeName !== metadata.name) continue;
          const row = this.#add(pod, model, figures, status?.observedAt ?? "", wallNow);
          const { namespace = "" } = pod.metadata;
          if (row) due.set(namespace, [...(due.get(namespace) ?? []), row]);
        }
    return due;
  }

  knows(workload: string): boolean {
    return this.#jobs.has(workload);
  }

  /** GPU time of a job's kernels a second while it need not wait, 0 to 1; undefined: unknown. */
  busyOf(workload: string, model: string): number | undefined {
    return this.#known.get(keyOf({ workload, model }))?.row.busy;
  }

  #add(
    pod: Pod,
    model: string,
    figures: DemandFigures,
    at: string,
    wallNow: number,
  ): WorkloadRow | undefined {
    const workload = workloadOf(pod);
    const before = this.#known.get(keyOf({ workload, model }));
    const row: WorkloadRow = {
      // A new pod has not shown all figures yet, so those of an earlier one stay.
      ...before?.row,
      ...figures,
      memoryBytes: Math.max(figures.memoryBytes, before?.row.memoryBytes ?? 0),
      ...{ workload, model, at, class: isHigh(pod) ? "high" : "best-effort" },
    };
    const { written, writtenAt = Number.NEGATIVE_INFINITY } = before ?? {};
    const age = wallNow - writtenAt;
    const isDue = !written || age >= UNCHANGED_MS || (age >= AGAIN_MS && differs(written, row));
    this.#keep(row, isDue ? { written: row, writtenAt: wallNow } : { written, writtenAt });
    return isDue ? row : undefined;
  }

  #keep(row: WorkloadRow, more: Omit<KeptRow, "row">): void {
    const key = keyOf(row);
    if (row.busy !== undefined) this.#jobs.add(row.workload);
    this.#known.delete(key);
    this.#known.set(key, { row, ...more });
    for (const [oldest, { row: old }] of this.#known) {
      if (this.#known.size <= MAX_WORKLOADS) break;
      this.#known.delete(oldest);
      this.#jobs.delete(old.workload);
    }
  }
}

const keyOf = ({ workload, model }: Pick<WorkloadRow, "workload" | "model">): string =>
  `${workload}\n${model}`;

function differs(one: WorkloadRow, other: WorkloadRow): boolean {
  const isOther = (before: number | undefined, now: number | undefined) =>
    now !== undefined && (before === undefined || Math.abs(now - before) > MIN_CHANGE * before);
  return (
    Math.abs((one.busy ?? -1) - (other.busy ?? -1)) >= MIN_BUSY_CHANGE ||
    isOther(one.memoryBytes, other.memoryBytes) ||
    isOther(one.p50Us, other.p50Us)
  );
}
