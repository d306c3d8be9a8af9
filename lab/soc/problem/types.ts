// Problems and plans. Accelerators, networks and groups are identified by position. Times are in milliseconds,
// demands in the unit of the memory's limit (GB/s or % of it), energy in millijoules.
import type { Slowdown } from "./slowdown.ts";

export interface Accelerator {
  readonly name: string;
  /** How much longer its work takes beside others' memory traffic. */
  readonly slowdown: Slowdown;
}

/** Layers that stay together: the unit of assignment. Lists have an entry for each accelerator. */
export interface Group {
  readonly name: string;
  /** Time alone; Infinity if the accelerator cannot run it. */
  readonly timeMs: readonly number[];
  readonly demand: readonly number[];
  /** Time to move its result out of this accelerator, if a group that reads it runs on another. */
  readonly outMs: readonly number[];
  /** Time to move its inputs into this accelerator, if one of them comes from another. */
  readonly inMs: readonly number[];
  readonly energyMj: readonly number[];
  /** Earlier groups of the network whose results it reads. A join has several. */
  readonly inputs: readonly number[];
}

/** The groups run one after another, in this order. */
export interface Network {
  readonly name: string;
  readonly groups: readonly Group[];
  /** Networks that must end before it begins. */
  readonly after: readonly number[];
}

/** `latency`: minimises the last end of a network. `throughput`: maximises the sum of 1 / end. */
export type Objective = "latency" | "throughput";

export interface Problem {
  readonly accelerators: readonly Accelerator[];
  readonly networks: readonly Network[];
  readonly objective: Objective;
  /** For each network, how often it may change accelerator. Infinity: no limit. */
  readonly maxTransitions: number;
  /**
   * HaX-CoNN, equation 9: a group may be handed to its accelerator this long before the group there ends. It makes
   * progress only afterwards, so no plan changes with this value.
   */
  readonly overlapMs: number;
  /** Energy of all groups together. Infinity: no limit. */
  readonly energyBudgetMj: number;
}

/** All decisions of a solver. `timeline` computes what follows from them. */
export interface Plan {
  /** The accelerator of each group, by network. */
  readonly assignment: readonly (readonly number[])[];
  /** For each accelerator, the networks by priority: of those that wait for it, the first in the list is next. */
  readonly priority: readonly (readonly number[])[];
}

/** A part of a group's run during which its neighbours do not change. */
export interface Piece {
  readonly fromMs: number;
  readonly toMs: number;
  /** 1 if no other group uses the memory. */
  readonly slowdown: number;
}

export interface Span {
  readonly network: number;
  readonly group: number;
  readonly accelerator: number;
  /** When its inputs are ready. From then until `startMs` it waits for the accelerator. */
  readonly readyMs: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly pieces: readonly Piece[];
}

export interface Timeline {
  /** In order of start. */
  readonly spans: readonly Span[];
  /** By network. */
  readonly endMs: readonly number[];
}
