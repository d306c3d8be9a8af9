// The one value behind `cotenant status`, `--json`, GET /status and the metrics.

import type { ObjectiveState } from "#policy";
import type { ClientClass, Rules } from "#protocol";
import type { BestEffortMeasure, HighMeasure } from "./meter.ts";
import type { GpuReading } from "./sensor.ts";
import type { AgentFile } from "./state.ts";
import type { Identity, Stranger } from "./tenants/index.ts";

export interface Status {
  readonly agent: AgentStatus;
  readonly gpus: readonly GpuStatus[];
}

export interface AgentStatus {
  readonly pid: number;
  readonly mode: AgentFile["mode"];
  readonly policy: string;
  readonly gpu: AgentFile["gpu"];
  readonly scope: AgentFile["scope"];
  readonly port: number;
  readonly upSeconds: number;
  /** Of one core, since the agent started. */
  readonly cpuShare: number;
  readonly residentBytes: number;
  readonly mpsRestarts: number;
}

export interface GpuStatus {
  readonly uuid: string;
  readonly name: string;
  /** What the driver says; undefined for a GPU it does not list. */
  readonly reading: Omit<GpuReading, "uuid" | "name" | "processes"> | undefined;
  /** undefined while there is no client. */
  readonly served:
    | { readonly generation: number; readonly smCount: number; readonly rules: Rules }
    | undefined;
  /** What suits these clients, for their next start; undefined while there is no pair of them. */
  readonly recommended: { readonly mode: AgentFile["mode"]; readonly reason: string } | undefined;
  readonly high: readonly HighStatus[];
  readonly bestEffort: readonly BestEffortStatus[];
  /** Processes on the GPU that hold no slot: neither protected nor gated. */
  readonly strangers: readonly Stranger[];
}

export interface ClientStatus {
  readonly class: ClientClass;
  readonly name: string;
  readonly pid: number;
  readonly slot: number;
  /** False: it outlived the last agent and has not come back yet. */
  readonly connected: boolean;
  /** undefined while it is not connected. */
  readonly identity: Identity | undefined;
  /** The grant by which it has its slot; undefined while it is not connected. */
  readonly grant: string | undefined;
}

export interface HighStatus extends ClientStatus, HighMeasure {
  readonly sloP99Us: number | undefined;
  readonly sloSlowdown: number | undefined;
  /** How it fares; undefined without one, and where the policy does not act on it. */
  readonly objective: { readonly state: ObjectiveState; readonly level: number } | undefined;
  /** Since it attached. */
  readonly burstP50SinceStartUs: number | undefined;
  readonly burstP99SinceStartUs: number | undefined;
}

export interface BestEffortStatus extends ClientStatus, BestEffortMeasure {}
