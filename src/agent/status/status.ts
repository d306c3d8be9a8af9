// The one value behind `cotenant status`, `--json`, GET /status and the metrics.

import type { AloneBursts, ObjectiveState, RequestKind } from "#policy";
import type { ClientClass, Rules } from "#protocol";
import type { Launch } from "../directory/launches.ts";
import type { AgentFile } from "../directory/state.ts";
import type { HealthStatus } from "../health/index.ts";
import type { BestEffortMeasure } from "../meters/best-effort-meter.ts";
import type { HighMeasure, SinceAttached } from "../meters/high-meter.ts";
import type { RequestMeasure } from "../meters/request-meter.ts";
import type { Unit } from "../meters/units.ts";
import type { LatencyMeasure } from "../pairs/latency-meter.ts";
import type { WorkMeasure } from "../pairs/work-meter.ts";
import type { RequestsStatus } from "../requests/endpoint.ts";
import type { GpuReading } from "../sensors/sensor.ts";
import type { AskedShare } from "../shares/asked-shares.ts";
import type { ShareBound } from "../shares/share-bounds.ts";
import type { SmShare } from "../shares/sm-shares.ts";
import type { StepHistograms, StepMeasure } from "../steps/step-meter.ts";
import type { HoldRecord, Identity } from "../tenants/index.ts";
import type { UntrackedProcess } from "../untracked/index.ts";
import type { Triton } from "../variants/index.ts";
import type { StatedStatus } from "./stated.ts";

export interface Status {
  readonly agent: AgentStatus;
  /** Programs of `cotenant run` that use no CUDA yet. */
  readonly launched: readonly Launch[];
  readonly gpus: readonly GpuStatus[];
}

export interface AgentStatus {
  readonly pid: number;
  readonly mode: AgentFile["mode"];
  readonly policy: string;
  readonly gpu: AgentFile["gpu"];
  readonly scope: AgentFile["scope"];
  readonly port: number;
  /** HOST:PORT and the file of the token that Prometheus needs there. */
  readonly metrics: { readonly address: string; readonly tokenFile: string };
  readonly upSeconds: number;
  /** CPU use since the agent started, in cores. */
  readonly cpuShare: number;
  readonly residentBytes: number;
  readonly mpsRestarts: number;
}

export interface GpuStatus {
  readonly uuid: string;
  readonly name: string;
  /** The driver's reading; undefined for a GPU it does not list. */
  readonly reading: Omit<GpuReading, "uuid" | "name" | "processes" | "mpsProcesses"> | undefined;
  /** SysMonitor's state; undefined where it does not judge the GPU. */
  readonly health: HealthStatus | undefined;
  /** Why somebody, such as a cluster's node part, wants best-effort work to stand still; undefined: nobody does. */
  readonly heldBecause: string | undefined;
  /** The policy pauses best-effort work, for at most 10 s, to sample how high clients fare solo. */
  readonly samplingSolo: boolean;
  /** The SM share that high clients are forecast to leave; undefined until one was there. */
  readonly smShare: SmShare | undefined;
  /** The share of it that somebody gives to best-effort clients, and that its rules keep to; undefined: nobody does. */
  readonly shareBound: ShareBound | undefined;
  /** undefined while there is no client. */
  readonly served: { readonly smCount: number; readonly rules: Rules } | undefined;
  /** The recommended mode for the clients' next start; undefined while there is no pair of them. */
  readonly recommended: { readonly mode: AgentFile["mode"]; readonly reason: string } | undefined;
  readonly high: readonly HighStatus[];
  readonly bestEffort: readonly BestEffortStatus[];
  /** Processes on the GPU that hold no slot: neither protected nor gated. */
  readonly strangers: readonly UntrackedProcess[];
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
  /** GPU memory of its process, as the driver says it; undefined where it does not say it. */
  readonly gpuMemory: number | undefined;
  /** Its library is of an older revision than the agent: what came since, it has after a restart. */
  readonly older: boolean;
  /** Its command line, cut after some length; undefined where it can't be read. */
  readonly command: string | undefined;
}

export interface HighStatus extends ClientStatus, StatedStatus, HighMeasure, SinceAttached {
  /** How its requests compare with its objective; undefined if that does not name any. */
  readonly requests: RequestsStatus | undefined;
  /** Requests that the program itself reports; undefined if it does not. */
  readonly told: RequestMeasure | undefined;
  /** Pids of processes that report its requests and are not on its GPU. */
  readonly reporters: readonly number[];
  /** Its steps of the last window; undefined where its bursts make none. */
  readonly steps: StepMeasure | undefined;
  /** Since steps were recognised. */
  readonly stepHistograms: StepHistograms | undefined;
  /** How it fares; undefined without one, and where the policy does not act on it. */
  readonly objective:
    | {
        readonly state: ObjectiveState;
        readonly level: number;
        /** The kind of request that leaves the least room. */
        readonly tightest?: RequestKind | undefined;
        /** The largest step slowdown at which that kind still meets its limit. */
        readonly mostStretch?: number | undefined;
        /** It is about requests, and no step was seen, so nothing runs concurrently with them. */
        readonly stepless?: boolean | undefined;
      }
    | undefined;
  /**
   * How it fares with best-effort work in its gaps; undefined unless it leaves the GPU idle in its bursts and states no
   * objective.
   */
  readonly gaps: { readonly state: ObjectiveState; readonly level: number } | undefined;
  /** The unit of the policy and of the next two fields: steps or bursts. */
  readonly unit: Unit;
  /** These while no best-effort work ran; undefined while the policy does not know them. */
  readonly alone: AloneBursts | undefined;
  /** The same while best-effort work runs and while none does, at equal load; undefined until there are enough of both. */
  readonly latencies: LatencyMeasure | undefined;
  /** How much slower those of the last window are than alone, by what an objective `slowdown` counts; undefined while unknown. */
  readonly slowdown: number | undefined;
}

export interface BestEffortStatus extends ClientStatus, BestEffortMeasure {
  /** Its work by itself and shared; undefined before the first sample. */
  readonly work: WorkMeasure | undefined;
  /** Whether it heeds its hold; undefined where nothing can be said: in mode mps, and without a high client. */
  readonly hold: HoldRecord | undefined;
  /** The share that somebody, such as a cluster's node part, gives to its pod; undefined: nobody does. */
  readonly givenShare: AskedShare | undefined;
  /** How its Triton assembles kernels; undefined: it has none, that can't be seen, or no kernel is to stop inside. */
  readonly triton: Triton | undefined;
}
