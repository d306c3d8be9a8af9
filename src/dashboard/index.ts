export type {
  BurstView,
  ClientView,
  EventView,
  Figure,
  GpuView,
  LiveEvents,
  Snapshot,
  Standing,
  StrangerView,
  TimelineView,
  WorstView,
} from "./contract.ts";
