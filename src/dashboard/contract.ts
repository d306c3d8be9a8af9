// Texts are ready for people: the page only shows them. It is JSON; times are ms since 1970.
import type { FigureLabel } from "./figures.ts";

export interface LiveEvents {
  /** It is sent once a second. */
  readonly snapshot: SnapshotUpdate;
  /** It is sent at the start, and once a minute. */
  readonly timeline: readonly TimelineView[];
  /** It is sent at the start, and every few seconds. */
  readonly worst: readonly WorstView[];
}

/** met: all is as it is wanted. missed: an objective is not met. unknown: neither can be said. */
export type Standing = "met" | "missed" | "unknown";

export interface Snapshot {
  readonly at: number;
  readonly agent: string;
  readonly pid: number;
  /** These programs use no CUDA yet. */
  readonly launched: readonly string[];
  /** These are on several GPUs. */
  readonly jobs: readonly ClientView[];
  readonly gpus: readonly GpuView[];
  /** The newest is last. */
  readonly events: readonly EventView[];
}

/** The first one of a stream is whole; the others leave out what has not changed. */
export interface SnapshotUpdate extends Omit<Snapshot, "gpus" | "events"> {
  readonly gpus: readonly GpuUpdate[];
  /** undefined means as before. */
  readonly events: readonly EventView[] | undefined;
}

export interface GpuUpdate extends Omit<GpuView, "clients"> {
  /** It lists all that are there; of one that is as before only the id. */
  readonly clients: readonly (ClientView | ClientView["id"])[];
}

export interface GpuView {
  readonly uuid: string;
  readonly name: string;
  readonly facts: string;
  readonly sentence: string;
  readonly standing: Standing;
  readonly advice: readonly string[];
  /** Clients of one job are one. */
  readonly clients: readonly ClientView[];
  /** They are what of `Snapshot.jobs` is on this GPU. */
  readonly parts: readonly string[];
  readonly strangers: readonly StrangerView[];
  readonly latest: Series | undefined;
  readonly recovered: { readonly text: string; readonly since: number };
}

export interface ClientView {
  readonly id: string;
  readonly name: string;
  readonly class: "high" | "best-effort";
  /** It is that of the process that stands for the job. */
  readonly pid: number;
  /** It is "2 ranks on 2 GPUs", for example; empty for one process on one GPU. */
  readonly size: string;
  /** They are all of a job of several. */
  readonly processes: readonly ProcessView[];
  readonly command: string | undefined;
  readonly owner: string;
  readonly uid: number | undefined;
  readonly user: string | undefined;
  /** It is empty for a process of the host that no unit has started. */
  readonly place: string;
  readonly standing: Standing;
  /** It is empty for a best-effort client, as is `says`. */
  readonly badge: string;
  readonly says: string;
  readonly problem: { readonly cause: string; readonly remedy: string } | undefined;
  readonly figures: readonly Figure[];
  readonly notes: readonly string[];
  readonly lastEvent: EventView | undefined;
}

export interface ProcessView {
  readonly gpu: string;
  readonly pid: number;
  readonly text: string;
}

export interface Figure {
  readonly label: FigureLabel;
  readonly value: string;
  /** It is the value as a number, to sort by; undefined while it is not known. */
  readonly amount: number | undefined;
}

export interface StrangerView {
  readonly text: string;
  /** It says how to start it as a client next time. */
  readonly adopt: string;
}

export interface EventView {
  readonly time: string;
  readonly event: string;
  readonly facts: string;
}

/** They are parts of each period, from 0 to 1; null where there was no client. */
export interface Series {
  /** It is the number of the first period: the next one has the next number. */
  readonly first: number;
  readonly from: number;
  /** It is in ms. */
  readonly period: number;
  readonly service: readonly (number | null)[];
  readonly bestEffort: readonly (number | null)[];
  readonly held: readonly (number | null)[];
}

export interface TimelineView {
  readonly uuid: string;
  readonly second: Series;
  readonly minute: Series;
}

export interface WorstView {
  readonly uuid: string;
  readonly client: string;
  readonly name: string;
  readonly bursts: readonly BurstView[];
}

export interface BurstView {
  readonly at: number;
  readonly lasted: string;
  readonly waited: string;
  /** It is the work that ran ahead of it. */
  readonly cause: string;
  /** It is empty where nothing helps. */
  readonly remedy: string;
}
