// Pairings and pods go, reports stay for MAX_WEEKS. The manager itself keeps nothing of them.
import { randomUUID } from "node:crypto";
import { type Api, ApiError } from "../../api/client.ts";
import type { WorkloadRow } from "../../labels/demand.ts";
import type { PairRow } from "../../labels/pair.ts";
import { type Gain, noGain } from "./gains.ts";
import { withRows } from "./pair-rows.ts";
import { withWorkloads } from "./workload-rows.ts";

const MAX_WEEKS = 26;
/** All further services are one, named `others`. */
const MAX_SERVICES = 100;
const OTHERS = "others";
/** This much is lost when a manager ends. */
const WRITE_EVERY_MS = 300_000;
/** Reports that are written in an interval, so that they delay nothing else. */
const MAX_WRITES = 20;

export interface SharingReport {
  readonly apiVersion: "cotenant.io/v1alpha1";
  readonly kind: "SharingReport";
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly status: {
    /** It is a week of ISO 8601 in UTC, such as 2026-W48. */
    readonly week: string;
    readonly recoveredGpuHours: number;
    readonly evictions: Readonly<Record<string, number>>;
    /** The key is the slowdown factor of the requests in these seconds. */
    readonly services: readonly {
      readonly name: string;
      readonly slowdownSeconds: Readonly<Record<string, number>>;
    }[];
    readonly pairs?: readonly PairRow[];
    readonly workloads?: readonly WorkloadRow[];
    /** Names the last write: one whose answer was lost is not repeated. */
    readonly write: string;
  };
}

type Status = SharingReport["status"];

interface Pending {
  gain: Gain;
  /** Its gains stay apart until it is known whether the report has them. */
  tried: { readonly gain: Gain; readonly week: string; readonly write: string } | undefined;
  at: number;
}

export class Reports {
  readonly #api: Api;
  readonly #pending = new Map<string, Pending>();

  constructor(api: Api) {
    this.#api = api;
  }

  /** `now` is in monotonic ms. */
  due(gains: ReadonlyMap<string, Gain>, now: number): readonly string[] {
    for (const [namespace, gain] of gains) {
      const pending = this.#pending.get(namespace);
      if (pending === undefined)
        this.#pending.set(namespace, { gain, tried: undefined, at: now + WRITE_EVERY_MS });
      else addTo(pending.gain, gain);
    }
    return [...this.#pending]
      .filter(([, { at }]) => at <= now)
      .slice(0, MAX_WRITES)
      .map(([namespace]) => namespace);
  }

  get pending(): readonly string[] {
    return [...this.#pending.keys()];
  }

  /** Rejects on a refusal; then gains are written later. `wallNow`: ms since 1970. */
  async write(namespace: string, now: number, wallNow: number): Promise<void> {
    const pending = this.#pending.get(namespace);
    if (pending === undefined) return;
    pending.at = now + WRITE_EVERY_MS;
    if (pending.tried === undefined) {
      pending.tried = { gain: pending.gain, week: weekOf(wallNow), write: randomUUID() };
      pending.gain = noGain();
    }
    try {
      await this.#add(namespace, pending.tried);
    } catch (error) {
      // The namespace is being deleted, or has no use for a report.
      if (error instanceof ApiError && (error.status === 403 || error.status === 404))
        this.#pending.delete(namespace);
      throw error;
    }
    pending.tried = undefined;
    if (isEmpty(pending.gain)) this.#pending.delete(namespace);
  }

  async #add(
    namespace: string,
    { gain, week, write }: NonNullable<Pending["tried"]>,
  ): Promise<void> {
    const all = `/apis/cotenant.io/v1alpha1/namespaces/${namespace}/sharingreports`;
    const name = week.toLowerCase();
    const before = await this.#api.find<SharingReport>(`${all}/${name}`);
    if (before?.status.write === write) return;
    const status = sumOf(before?.status, gain, week, write);
    // The API server refuses it if another manager was faster.
    if (before) await this.#api.replace(`${all}/${name}`, { ...before, status });
    else {
      await this.#forget(all, name);
      await this.#api.create(all, {
        ...{ apiVersion: "cotenant.io/v1alpha1", kind: "SharingReport" },
        ...{ metadata: { name, namespace }, status },
      });
    }
  }

  async #forget(all: string, name: string): Promise<void> {
    const { items } = await this.#api.list<SharingReport, string>(all, (one) => one.metadata.name);
    // Names of weeks sort by time.
    const old = items.filter((other) => other < name).sort();
    for (const one of old.slice(0, Math.max(0, old.length - MAX_WEEKS + 1)))
      await this.#api.remove(`${all}/${one}`);
  }
}

const isEmpty = ({ gpuSeconds, ...maps }: Gain): boolean =>
  gpuSeconds === 0 && Object.values(maps).every(({ size }) => size === 0);

function addTo(sum: Gain, more: Gain): void {
  sum.gpuSeconds += more.gpuSeconds;
  for (const [cause, n] of more.evictions)
    sum.evictions.set(cause, (sum.evictions.get(cause) ?? 0) + n);
  for (const [name, steps] of more.services) {
    const known = sum.services.get(name) ?? new Map<string, number>();
    for (const [step, n] of steps) known.set(step, (known.get(step) ?? 0) + n);
    sum.services.set(name, known);
  }
  for (const [key, row] of more.pairs) sum.pairs.set(key, row);
  for (const [key, row] of more.workloads) sum.workloads.set(key, row);
}

export function sumOf(before: Status | undefined, gain: Gain, week: string, write: string): Status {
  const evictions = { ...before?.evictions };
  for (const [cause, n] of gain.evictions) evictions[cause] = (evictions[cause] ?? 0) + n;
  const services = new Map(
    before?.services.map(({ name, slowdownSeconds }) => [name, { ...slowdownSeconds }]),
  );
  for (const [name, steps] of gain.services) {
    const key = services.has(name) || services.size < MAX_SERVICES - 1 ? name : OTHERS;
    const known: Record<string, number> = services.get(key) ?? {};
    for (const [step, n] of steps) known[step] = rounded((known[step] ?? 0) + n);
    services.set(key, known);
  }
  return {
    ...{ week, write, evictions },
    recoveredGpuHours: rounded((before?.recoveredGpuHours ?? 0) + gain.gpuSeconds / 3600),
    services: [...services].map(([name, slowdownSeconds]) => ({ name, slowdownSeconds })),
    pairs: withRows(before?.pairs ?? [], gain.pairs.values()),
    workloads: withWorkloads(before?.workloads ?? [], gain.workloads.values()),
  };
}

/** Sums of many small gains would be lost at a thousandth. */
const rounded = (n: number): number => Math.round(n * 1e6) / 1e6;

const DAY_MS = 86_400_000;

/** The ISO week in UTC belongs to the year of its Thursday. `wallNow`: ms since 1970. */
export function weekOf(wallNow: number): string {
  const weekday = (new Date(wallNow).getUTCDay() + 6) % 7;
  const thursday = new Date(wallNow + (3 - weekday) * DAY_MS);
  const year = thursday.getUTCFullYear();
  const week = 1 + Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * DAY_MS));
  return `${year}-W${String(week).padStart(2, "0")}`;
}
