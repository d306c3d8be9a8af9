// What is planned and what a plan is. Accelerators, networks and groups are known by their position; times are
// milliseconds, demands are in the unit of the memory's limit (GB/s or % of it), energy is millijoules.
import type { Slowdown } from "./slowdown.ts";

export interface Accelerator {
  readonly name: string;
  /** How much longer its work takes beside others' memory traffic. */
  readonly slowdown: Slowdown;
}

/** Layers that stay together: the unit of assignment. Lists are per accelerator. */
export interface Group {
  readonly name: string;
  /** Alone; Infinity where it can't run. */
  readonly timeMs: readonly number[];
  readonly demand: readonly number[];
  /** To take its result out of this accelerator, when a group that reads it runs on another. */
  readonly outMs: readonly number[];
  /** To bring its inputs into this accelerator, when one of them comes from another. */
  readonly inMs: readonly number[];
  readonly energyMj: readonly number[];
  /** Earlier groups of the network whose results it reads; a join has several. */
  readonly inputs: readonly number[];
}

/** Its groups run one after another, in this order. */
export interface Network {
  readonly name: string;
  readonly groups: readonly Group[];
  /** Networks that must have ended before it begins. */
  readonly after: readonly number[];
}

/** `latency`: the smallest largest end of a network. `throughput`: the largest sum of 1 / end. */
export type Objective = "latency" | "throughput";

export interface Problem {
  readonly accelerators: readonly Accelerator[];
  readonly networks: readonly Network[];
  readonly objective: Objective;
  /** Per network: how often it may change accelerator. Infinity is no limit. */
  readonly maxTransitions: number;
  /** How long two groups may be on one accelerator at most, at the end of the first. */
  readonly overlapMs: number;
  /** Of all groups together; Infinity is no limit. */
  readonly energyBudgetMj: number;
}

/** All that a solver decides; `timeline` says what follows from it. */
export interface Plan {
  /** Per network and group, the accelerator. */
  readonly assignment: readonly (readonly number[])[];
  /** Per accelerator, the networks: of those that wait for it, the first in this list is next. */
  readonly priority: readonly (readonly number[])[];
}

/** A part of a group's run in which its neighbours do not change. */
export interface Piece {
  readonly fromMs: number;
  readonly toMs: number;
  /** 1 where nobody else uses the memory. */
  readonly slowdown: number;
}

export interface Span {
  readonly network: number;
  readonly group: number;
  readonly accelerator: number;
  /** Its inputs are there; until `startMs` it waits for the accelerator. */
  readonly readyMs: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly pieces: readonly Piece[];
}

export interface Timeline {
  /** In order of start. */
  readonly spans: readonly Span[];
  /** Per network. */
  readonly endMs: readonly number[];
}
