import type { Address, Clock } from "#core";
import type { HealthOptions } from "#health";
import type { Overrides, Policy } from "#policy";
import type { Identify } from "./connections/peer.ts";
import type { GpuKind, Mode, Scope, Service } from "./directory/state.ts";
import type { HostLimits } from "./host/index.ts";
import type { AnswerLaunch } from "./launches/launching.ts";
import type { Log } from "./log/log.ts";
import type { Quantum } from "./memory/index.ts";
import type { Program } from "./variants/index.ts";

export interface AgentOptions {
  readonly directory: string;
  /** user (the default): only this uid reaches the socket. machine: all do, and grants decide. */
  readonly scope?: Scope | undefined;
  readonly uid: number;
  /** Without a file of grants, users other than the agent's are best-effort. */
  readonly grants?: string | undefined;
  readonly gpu: GpuKind;
  readonly mode: Mode;
  readonly policy: Policy;
  readonly overrides: Overrides;
  readonly onUntracked?: string | undefined;
  readonly reserve?: number | undefined; // bytes of each GPU
  readonly quantum?: Quantum | undefined; // ns
  readonly health?: HealthOptions | undefined;
  /** A command that is run at each transition of SysMonitor. */
  readonly onHealth?: string | undefined;
  readonly hostLimits?: HostLimits | undefined;
  readonly port: number; // 0: any free one
  readonly metricsAddress?: Address | undefined;
  readonly metricsToken?: string | undefined; // the file is made if there is none
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly identify?: Identify;
  readonly variantProgram?: Program;
  readonly build?: string | undefined;
  readonly answerLaunch?: ((agent: Service) => AnswerLaunch) | undefined;
}
