// The options of an agent.
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
  /** user (if not given): only processes of this uid get to the socket, and may be anything. machine: all get there, and grants decide. */
  readonly scope?: Scope | undefined;
  readonly uid: number;
  /** The file of grants of an agent of the machine; undefined: its own user may be anything, others best-effort. */
  readonly grants?: string | undefined;
  readonly gpu: GpuKind;
  readonly mode: Mode;
  readonly policy: Policy;
  readonly overrides: Overrides;
  /** A command to be run for each untracked process; none, or WARN: untracked processes are logged. */
  readonly onUntracked?: string | undefined;
  /** Bytes of each GPU that are kept free of best-effort memory that can be parked. */
  readonly reserve?: number | undefined;
  /** How long best-effort clients that do not fit together run in turn; in ns. */
  readonly quantum?: Quantum | undefined;
  /** Thresholds of SysMonitor instead of the usual ones. */
  readonly health?: HealthOptions | undefined;
  /** A command to be run at each of its transitions. */
  readonly onHealth?: string | undefined;
  /** Limits of the host's CPUs and memory for best-effort clients. */
  readonly hostLimits?: HostLimits | undefined;
  /** 0: any free one. */
  readonly port: number;
  /** Where metrics are served besides loopback. */
  readonly metricsAddress?: Address | undefined;
  /** The file of the token of metrics, made if there is none; in the run directory if not given. */
  readonly metricsToken?: string | undefined;
  /** Environment of the MPS daemon; also names the software GPU's folder, if that is not in the run directory. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a client is who it says it is; by the kernel's word where not given. */
  readonly identify?: Identify;
  /** Starts a process that serves variants (serveVariants); where not given, none are made. */
  readonly variantProgram?: Program;
  /** The folder of the package's copy that this process runs from; not given: it runs from the package itself. */
  readonly build?: string | undefined;
  /** Answers launchers, with what the clients' file says of this agent; where not given, Node does. */
  readonly answerLaunch?: ((agent: Service) => AnswerLaunch) | undefined;
}
