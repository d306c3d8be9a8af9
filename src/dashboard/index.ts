export type {
  BurstView,
  ClientView,
  EventView,
  Figure,
  GpuUpdate,
  GpuView,
  LiveEvents,
  ProcessView,
  Series,
  Snapshot,
  SnapshotUpdate,
  Standing,
  StrangerView,
  TimelineView,
  WorstView,
} from "./contract.ts";
export { type EventHandlers, eventParser } from "./events.ts";
export { type FigureLabel, figureMeanings } from "./figures.ts";
export { SeriesStore, type ShareName, shareNames } from "./series.ts";
