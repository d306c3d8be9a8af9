export type {
  BurstView,
  ClientView,
  EventView,
  Figure,
  GpuView,
  LiveEvents,
  Series,
  Snapshot,
  Standing,
  StrangerView,
  TimelineView,
  WorstView,
} from "./contract.ts";
export { type EventHandlers, eventParser } from "./events.ts";
export { SeriesStore, type ShareName, shareNames } from "./series.ts";
