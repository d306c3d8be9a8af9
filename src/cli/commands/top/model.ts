// The state of the screen: the agent's last answers, and the choices of the person in front of it.
import type { GpuView, Snapshot, TimelineView, WorstView } from "#dashboard";

export interface Model {
  readonly snapshot: Snapshot;
  /** By UUID. */
  readonly timelines: ReadonlyMap<string, TimelineView>;
  readonly worst: readonly WorstView[];
  /** Why nothing new comes; undefined while the agent sends. */
  readonly lost: string | undefined;
  /** ms since 1970. */
  readonly now: number;
}

/** Lengths of the timeline, in the order of the key: without a length, a period a column. */
export const stretches = [
  { of: "second", text: "", ms: 0 },
  { of: "second", text: "15 min", ms: 15 * 60_000 },
  { of: "minute", text: "day", ms: 24 * 60 * 60_000 },
] as const;

/** A letter that was typed about a client. */
export interface Order {
  readonly letter: "P" | "R" | "M" | "E";
  /** The client's key. */
  readonly key: string;
}

export interface View {
  readonly page: "clients" | "details" | "help";
  /** A key of a client; undefined while none is selected. */
  readonly selected: string | undefined;
  /** The title of a column; undefined: as the agent lists them, services first. */
  readonly sort: string | undefined;
  readonly reverse: boolean;
  /** An index of `stretches`. */
  readonly stretch: number;
  readonly paused: boolean;
  /** Lines of the page that are above the screen. */
  readonly scroll: number;
  /** The same letter again confirms it. */
  readonly asked?: Order | undefined;
  readonly confirmed?: Order | undefined;
  /** The line that the last order ended with. */
  readonly notice?: string | undefined;
}

export const firstView: View = {
  page: "clients",
  selected: undefined,
  sort: undefined,
  reverse: false,
  stretch: 0,
  paused: false,
  scroll: 0,
};

export interface Size {
  readonly columns: number;
  /** Infinity: as many as there are. */
  readonly rows: number;
}

/** The same process may be a client of several GPUs. */
export const keyOf = ({ uuid }: Pick<GpuView, "uuid">, id: string): string => `${uuid} ${id}`;

export const clockTime = (time: number | string): string =>
  new Date(time).toLocaleTimeString("en-GB", { hour12: false });
