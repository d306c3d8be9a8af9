import type { GpuView, Snapshot, TimelineView, WorstView } from "#dashboard";

export interface Model {
  readonly snapshot: Snapshot;
  readonly timelines: ReadonlyMap<string, TimelineView>;
  readonly worst: readonly WorstView[];
  /** undefined while the agent sends. */
  readonly lost: string | undefined;
  /** It is in ms since 1970. */
  readonly now: number;
}

/** Without a length, a column is a period. */
export const stretches = [
  { of: "second", text: "", ms: 0 },
  { of: "second", text: "15 min", ms: 15 * 60_000 },
  { of: "minute", text: "day", ms: 24 * 60 * 60_000 },
] as const;

export interface Order {
  readonly letter: "P" | "R" | "M" | "E";
  readonly key: string;
}

export interface View {
  readonly page: "clients" | "details" | "help";
  readonly selected: string | undefined;
  /** undefined means as the agent lists them, services first. */
  readonly sort: string | undefined;
  readonly reverse: boolean;
  /** It is an index of `stretches`. */
  readonly stretch: number;
  readonly paused: boolean;
  readonly scroll: number;
  /** If the same letter comes again, it is confirmed. */
  readonly asked?: Order | undefined;
  readonly confirmed?: Order | undefined;
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
  /** Infinity means as many as there are. */
  readonly rows: number;
}

/** The same process may be a client of several GPUs. */
export const keyOf = ({ uuid }: Pick<GpuView, "uuid">, id: string): string => `${uuid} ${id}`;

export const clockTime = (time: number | string): string =>
  new Date(time).toLocaleTimeString("en-GB", { hour12: false });
