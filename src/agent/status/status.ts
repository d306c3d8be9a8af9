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
  readonly launched: readonly Launch[]; // they use no CUDA yet
  readonly gpus: readonly GpuStatus[];
}

export interface AgentStatus {
  readonly pid: number;
  readonly mode: AgentFile["mode"];
  readonly policy: string;
  readonly gpu: AgentFile["gpu"];
  readonly scope: AgentFile["scope"];
  readonly port: number;
  /** Prometheus needs HOST:PORT and the file of the token. */
  readonly metrics: { readonly address: string; readonly tokenFile: string };
  readonly upSeconds: number;
  readonly cpuShare: number; // cores in use since the start
  readonly residentBytes: number;
  readonly mpsRestarts: number;
}

export interface GpuStatus {
  readonly uuid: string;
  readonly name: string;
  /** The driver does not list every GPU. */
  readonly reading: Omit<GpuReading, "uuid" | "name" | "processes" | "mpsProcesses"> | undefined;
  readonly health: HealthStatus | undefined;
  readonly heldBecause: string | undefined;
  readonly samplingSolo: boolean; // it lasts for 10 s at most
  readonly smShare: SmShare | undefined;
  readonly shareBound: ShareBound | undefined;
  readonly served: { readonly smCount: number; readonly rules: Rules } | undefined;
  readonly recommended: { readonly mode: AgentFile["mode"]; readonly reason: string } | undefined;
  readonly high: readonly HighStatus[];
  readonly bestEffort: readonly BestEffortStatus[];
  readonly strangers: readonly UntrackedProcess[]; // they are neither protected nor gated
}

export interface ClientStatus {
  readonly class: ClientClass;
  readonly name: string;
  readonly pid: number;
  readonly slot: number;
  readonly job: string; // the same for all clients of a job
  readonly rank: number | undefined; // as its launcher numbers it
  readonly connected: boolean; // false: it has not come back to this agent
  readonly identity: Identity | undefined;
  readonly grant: string | undefined;
  readonly gpuMemory: number | undefined;
  readonly older: boolean; // its library is older than the agent
  readonly command: string | undefined;
}

export interface HighStatus extends ClientStatus, StatedStatus, HighMeasure, SinceAttached {
  readonly requests: RequestsStatus | undefined;
  readonly told: RequestMeasure | undefined;
  readonly reporters: readonly number[];
  readonly steps: StepMeasure | undefined;
  readonly stepHistograms: StepHistograms | undefined;
  readonly objective:
    | {
        readonly state: ObjectiveState;
        readonly level: number;
        readonly tightest?: RequestKind | undefined;
        readonly mostStretch?: number | undefined; // steps may be this many times as long
        readonly stepless?: boolean | undefined;
      }
    | undefined;
  /** undefined unless the service leaves the GPU idle in its bursts and states no objective. */
  readonly gaps: { readonly state: ObjectiveState; readonly level: number } | undefined;
  readonly unit: Unit;
  readonly alone: AloneBursts | undefined;
  readonly latencies: LatencyMeasure | undefined;
  readonly slowdown: number | undefined;
  /** Other GPUs, by UUID, on which it holds best-effort work for the ranks of its job. */
  readonly holdsOn: readonly string[];
}

export interface BestEffortStatus extends ClientStatus, BestEffortMeasure {
  readonly work: WorkMeasure | undefined; // undefined before the first sample
  readonly hold: HoldRecord | undefined;
  readonly givenShare: AskedShare | undefined;
  readonly triton: Triton | undefined;
}
