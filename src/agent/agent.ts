// The node daemon. Start: make the run directory ours, find the GPUs, start MPS when asked, take over
// what the last agent left, and only then open the doors. Then, four times a second: look at the
// clients, ask the policy, write its rules; once a second: repair the memory, read the GPUs.
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import {
  type Address,
  type Clock,
  dateNow,
  errors,
  ms,
  packageVersion,
  tryWrite,
  wallNow,
} from "#core";
import type { HealthOptions } from "#health";
import { type Overrides, type Policy, withOverrides } from "#policy";
import { Changes } from "./changes.ts";
import { serveHttp } from "./connections/http.ts";
import { metricsToken } from "./connections/metrics-token.ts";
import type { Identify } from "./connections/peer.ts";
import { openDoor } from "./connections/socket.ts";
import { checkKernel } from "./gpus/region.ts";
import { Registry } from "./gpus/registry.ts";
import { AskedHolds, GpuHealth, lookAfter } from "./health/index.ts";
import { History } from "./history/history.ts";
import { RecentEvents } from "./history/recent-events.ts";
import { type SlowBurst, watchSlowBursts } from "./history/slow-bursts.ts";
import { guardClients, type HostLimits, openHostGuard } from "./host/index.ts";
import { launchesIn } from "./launches.ts";
import { type Log, limitedLog, withoutRepeats } from "./log.ts";
import { newestEntries } from "./log-file.ts";
import { Lookout } from "./lookout.ts";
import { askClients, type Quantum, Room, Sleepers } from "./memory/index.ts";
import { type Mps, openNvml, startMps, startSoftMps } from "./nvidia/index.ts";
import { Requests } from "./requests/requests.ts";
import { AskedShares } from "./shares/asked-shares.ts";
import { openSoftGpus, openToAll, SOFT_GPU_NAME } from "./softgpu.ts";
import {
  type AgentFile,
  claimDirectory,
  type GpuKind,
  identityOf,
  lockDirectory,
  type Mode,
  pathsIn,
  readAgentFile,
  removeAgentFile,
  type Scope,
  writeAgentFile,
} from "./state.ts";
import type { Status } from "./status.ts";
import { pidNamespace, startTimeOf, UserNames } from "./system/index.ts";
import {
  admissionByFile,
  admitAll,
  describeIdentity,
  strangerReporter,
  WARN,
} from "./tenants/index.ts";
import { noVariantMaker, type Program, VariantQueue } from "./variants/index.ts";
import { Watch } from "./watch/watch.ts";
import { explain } from "./why.ts";

const POLICY_PERIOD = ms(250);
const HEALING_PERIOD = ms(1000);
/** The shortest time between two questions to a service about its requests. */
const REQUESTS_PERIOD = ms(250);
/** After the policy's period, so that what it has decided is logged as it stands. */
const CHANGES_PERIOD = ms(1000);
/** Asking the daemon starts a process. */
const MPS_PERIOD = ms(5000);
/** SysMonitor's while best-effort work is there, which it may have to hold. MuxFlow's collects "in the millisecond level". */
const HEALTH_PERIOD = ms(100);
const QUIET_HEALTH_PERIOD = ms(1000);
/** A refused allocation waits for memory of best-effort clients: 2 s, and 250 ms until it hears of it. */
const REFUSED_PERIOD = ms(20);
/** Until it is noticed that a client's memory can be moved. */
const MEMORY_PERIOD = ms(100);
/** A stranger is told of when it was there at two readings. */
const SENSOR_PERIOD = ms(400);

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
  /** A command to be run for each stranger; none, or WARN: strangers are logged. */
  readonly onStranger?: string | undefined;
  /** Bytes of each GPU that are kept free of best-effort memory that can be parked. */
  readonly reserve?: number | undefined;
  /** How long best-effort clients that do not fit together run in turn; in ns. */
  readonly quantum?: Quantum | undefined;
  /** Thresholds of SysMonitor instead of the usual ones. */
  readonly health?: HealthOptions | undefined;
  /** A command to be run at each of its transitions. */
  readonly onHealth?: string | undefined;
  /** Of the host's CPUs and memory, for best-effort clients. */
  readonly hostLimits?: HostLimits | undefined;
  /** 0: any free one. */
  readonly port: number;
  /** Where metrics are served besides loopback. */
  readonly metricsAddress?: Address | undefined;
  /** The file of the token of metrics, made if there is none; in the run directory if not given. */
  readonly metricsToken?: string | undefined;
  /** Of the MPS daemon; says where the software GPU is, if not in the run directory. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a client is who it says it is; by the kernel's word where not given. */
  readonly identify?: Identify;
  /** Starts a process that serves variants (serveVariants); where not given, none are made. */
  readonly variantProgram?: Program;
}

export interface Agent {
  readonly file: AgentFile;
  status(): Status;
  /** Begins to watch high clients; the returned function tells their longest bursts since then, `most` of them, and why. */
  watchSlowBursts(most: number): () => readonly SlowBurst[];
  /** Resolves when the agent has stopped, whoever asked for it. */
  readonly stopped: Promise<void>;
  stop(because: string): Promise<void>;
}

/** Throws a UserError when something that a person can put right stands in the way. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  // What was opened, to be closed in the opposite order: at the end, and when the start fails.
  const opened: (() => Promise<void> | void)[] = [];
  const close = async () => {
    for (let undo = opened.pop(); undo; undo = opened.pop()) await undo();
  };
  try {
    return await start(options, opened, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(
  options: AgentOptions,
  opened: (() => Promise<void> | void)[],
  close: () => Promise<void>,
): Promise<Agent> {
  const { directory, clock, mode, policy, overrides, scope = "user" } = options;
  const paths = pathsIn(directory);
  const recent = new RecentEvents(dateNow);
  const log = limitedLog(recent.keeping(options.log), () => clock.now());
  const socket = scope === "machine" ? paths.sharedSocket : paths.socket;
  const admission =
    scope === "machine" ? admissionByFile(options.grants, options.uid, log) : admitAll;
  if (scope === "machine") checkKernel();
  claimDirectory(directory, options.uid, scope);
  opened.push(lockDirectory(directory));
  const ownLock = identityOf(paths.lock);
  /** undefined: somebody has removed the directory. False: another agent has made it anew. */
  const isOurs = () => {
    const lock = identityOf(paths.lock);
    return lock === undefined ? undefined : lock === ownLock;
  };
  recent.begin(newestEntries(paths.log));

  const sensor =
    options.gpu === "soft" ? openSoftGpus(softGpuAt(options), () => clock.now()) : openNvml();
  const mps = mode === "mps" ? await mpsFor(options) : undefined;
  if (mps) opened.push(() => mps.stop());

  const guard = options.hostLimits && openHostGuard(options.hostLimits);
  if (guard) opened.push(() => guard.close());
  const guardHost = guard ? guardClients(guard, log) : () => {};

  const isolated = mode === "isolated";
  const tenants = scope === "machine";
  const requests = new Requests(clock);
  const users = new UserNames();
  opened.push(() => users.close());
  const userName = (uid: number) => users.of(uid);
  const seen = { sensor, requests, userName };
  const askedHolds = new AskedHolds(() => clock.now());
  const askedShares = new AskedShares(() => clock.now());
  const watch = new Watch({
    ...{ tenants, isolated, policy, overrides, clock, ...seen },
    health: () => health,
    askedHold: (uuid) => askedHolds.reason(uuid),
    askedShare: (uuid, pod) => askedShares.of(uuid, pod),
  });
  const { reserve = 0 } = options;
  for (const { name, memoryTotal } of watch.readings)
    if (memoryTotal !== undefined && reserve >= memoryTotal)
      throw errors.reserveTooLarge(reserve, name, memoryTotal);
  const health = new GpuHealth({
    options: options.health ?? { limits: {} },
    software: options.gpu === "soft",
    now: () => clock.now(),
    lateness: (uuid) => watch.lateness(uuid),
  });
  const registry = new Registry({
    agentPid: process.pid,
    now: () => clock.now(),
    log,
    prepare: (gpu) => watch.writeRules(gpu),
    knows: (uuid) => sensor.knows(uuid),
    admission,
    closedFor: (uuid) => health.refusal(uuid),
  });
  opened.push(() => registry.close());
  registry.recall(readAgentFile(directory)?.gpus ?? []);

  const rewriteRules = (uuid: string) => {
    const gpu = registry.gpus.find((one) => one.uuid === uuid);
    if (gpu) watch.writeRules(gpu);
  };
  const lookAtHealth = lookAfter({
    health,
    vitals: () => sensor.vitals(),
    log,
    command: options.onHealth,
    env: options.env,
    changed: rewriteRules,
  });
  lookAtHealth(); // before a client can come
  const startedAt = clock.now();
  const history = new History(watch.meters, startedAt);
  const cpuAtStart = process.cpuUsage();
  const status = (): Status => {
    const upSeconds = (clock.now() - startedAt) / 1e9;
    const { user, system } = process.cpuUsage(cpuAtStart);
    return {
      agent: {
        pid: process.pid,
        mode,
        policy: policy.name,
        gpu: options.gpu,
        scope,
        port: http.port,
        metrics: { address: http.metricsAddress, tokenFile },
        upSeconds,
        cpuShare: upSeconds > 0 ? (user + system) / 1e6 / upSeconds : 0,
        residentBytes: process.memoryUsage.rss(),
        mpsRestarts: mps?.restarts ?? 0,
      },
      launched: launchesIn(directory),
      gpus: watch.statuses.of(registry.gpus),
    };
  };
  const token = randomBytes(32).toString("hex");
  const tokenFile = options.metricsToken ?? paths.metricsToken;
  let ready = false;
  const http = await serveHttp({
    port: options.port,
    token,
    metricsToken: metricsToken(tokenFile, options.uid),
    metricsAddress: options.metricsAddress,
    ready: () => ready,
    status,
    known: () => ({
      status: status(),
      served: registry.gpus,
      history,
      events: recent.entries,
      now: clock.now(),
      wall: wallNow(),
    }),
    clock,
    why: (pid) => {
      const why = explain(pid, admission, status());
      return { ...why, identity: watch.statuses.withName(why.identity) };
    },
    park: (called, wish) => {
      const asked = askClients(registry.gpus, called, wish);
      for (const { gpu, pid, name } of asked) log(`asked to ${wish}`, { client: name, pid, gpu });
      return asked;
    },
    hold: (uuid, because) => {
      if (because === undefined) {
        if (askedHolds.lift(uuid)) log("hold lifted", { gpu: uuid });
      } else if (askedHolds.hold(uuid, because)) log("held", { gpu: uuid, because });
      rewriteRules(uuid);
    },
    share: (uuid, pod, given) => {
      if (given === undefined) {
        if (askedShares.take(uuid, pod)) log("share taken back", { gpu: uuid, pod });
      } else if (askedShares.give(uuid, pod, given))
        log("share given", { gpu: uuid, pod, ...given });
      rewriteRules(uuid);
    },
    stop: () => stop("asked to"),
  });
  opened.push(() => http.close());

  const startTime = startTimeOf(process.pid) ?? 0;
  const { preemptUs } = withOverrides(policy.rules({ isolated, high: [] }, undefined), overrides);
  const stopsKernels = preemptUs > 0;
  const file = (): AgentFile => ({
    version: packageVersion(),
    pid: process.pid,
    startTime,
    pidNamespace: pidNamespace(),
    scope,
    socket,
    port: http.port,
    token,
    mode,
    policy: policy.name,
    gpu: options.gpu,
    stopsKernels,
    // The software GPU is listed from its first client on.
    gpuNames: options.gpu === "soft" ? [SOFT_GPU_NAME] : watch.readings.map(({ name }) => name),
    gpus: registry.records(),
  });
  const note = () => {
    if (!isOurs()) return;
    try {
      writeAgentFile(directory, file());
    } catch (error) {
      // A full disk must not end the protection of those who are here: the next change tries again.
      log("notes not written", { because: String(error) });
    }
  };
  rmSync(socket, { force: true }); // the lock is ours, so nobody listens there
  const queue =
    options.variantProgram && new VariantQueue({ program: options.variantProgram, clock, log });
  if (queue) opened.push(() => queue.close());
  const room = new Room({
    reserve,
    quantum: options.quantum ?? "auto",
    free: (uuid) => sensor.free(uuid),
    now: () => clock.now(),
    log,
  });
  const isShared = () =>
    registry.gpus.some(({ clients }) => clients.some((one) => one.class === "best-effort"));
  const refused = new Lookout(clock, REFUSED_PERIOD, () => room.look(registry.gpus));
  const readings = new Lookout(clock, HEALTH_PERIOD, () => {
    lookAtHealth();
    return isShared();
  });
  opened.push(
    () => refused.close(),
    () => readings.close(),
  );
  const changed = () => {
    note();
    queue?.keepOne(stopsKernels && isShared());
    if (!isShared()) return;
    refused.noteComer();
    readings.look();
  };
  const variants = queue ?? noVariantMaker;
  const { identify } = options;
  const door = await openDoor(socket, registry, clock, changed, {
    scope,
    variants,
    identify,
  });
  opened.push(() => door.close());

  // Nobody would find an agent that can't write this, as on a full disk. Later changes may fail (note).
  tryWrite(paths.file, () => writeAgentFile(directory, file()));
  changed();
  ready = true;
  opened.push(() => {
    ready = false;
    if (!isOurs()) return;
    // Whoever is attached now is whom the next agent looks for.
    if (registry.gpus.some(({ clients }) => clients.length > 0)) note();
    else removeAgentFile(directory);
  });
  const { pid } = process;
  const { port, metricsAddress: metrics } = http;
  log("started", {
    pid,
    version: packageVersion(),
    mode,
    policy: policy.name,
    gpu: options.gpu,
    scope,
    port,
    metrics,
    ...overrides,
  });

  const logOnce = withoutRepeats(log);
  const changes = new Changes(log);
  const sleepers = new Sleepers(log);
  const tellOfOthers = () => {
    for (const { gpu, agentPid = 0 } of watch.clientsOfOthers(registry.gpus))
      logOnce("another agent", { gpu, pid: agentPid, because: "it has clients on this GPU, too" });
  };

  const reportStranger = strangerReporter(options.onStranger ?? WARN, options.env, log);
  const look = () => {
    const ignored = watch.lookAndDecide(registry.gpus);
    history.note(registry.gpus, clock.now());
    for (const { gpu, client, usedShare } of ignored) {
      const { pid, name: called, slot, identity } = client;
      const of = identity ? { of: describeIdentity(identity) } : {};
      const because = `its kernels ran in ${Math.round(100 * usedShare)} % of a pause`;
      log("hold ignored", { client: called, pid, slot, gpu, ...of, because });
    }
  };

  opened.push(
    clock.every(POLICY_PERIOD, look),
    clock.every(QUIET_HEALTH_PERIOD, () => readings.look()),
    clock.every(MEMORY_PERIOD, () => refused.look()),
    clock.every(HEALING_PERIOD, () => registry.heal()),
    clock.every(HEALING_PERIOD, () => {
      const ours = isOurs();
      if (ours === false) void stop("another agent has its directory");
      else if (ours && readAgentFile(directory)?.pid !== pid) note();
    }),
    clock.every(HEALING_PERIOD, () => admission.look()),
    clock.every(REQUESTS_PERIOD, () => void requests.ask(registry.gpus)),
    clock.every(SENSOR_PERIOD, () => {
      watch.readSensor();
      room.keepReserve(registry.gpus);
      for (const stranger of watch.untoldStrangers(registry.gpus)) reportStranger(stranger);
      tellOfOthers();
    }),
    clock.every(MPS_PERIOD, () => void mps?.check()),
    clock.every(CHANGES_PERIOD, () => sleepers.note(registry.gpus)),
    clock.every(CHANGES_PERIOD, () => guardHost(registry.gpus)),
    clock.every(CHANGES_PERIOD, () => changes.note(watch.statuses.standings(registry.gpus))),
  );

  let finish = () => {};
  const stopped = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let stopping: Promise<void> | undefined;
  const stop = (because: string) => {
    stopping ??= (async () => {
      log("stopping", { because });
      await close();
      finish();
    })();
    return stopping;
  };
  return {
    file: file(),
    status,
    watchSlowBursts: (most) => watchSlowBursts(history, status, most),
    stopped,
    stop,
  };
}

function softGpuAt({ directory, env, scope }: AgentOptions): string {
  const folder = env.COTENANT_SOFTGPU_DIR ?? pathsIn(directory).softGpu;
  if (scope === "machine") openToAll(folder);
  return folder;
}

function mpsFor({ directory, gpu, env, log }: AgentOptions): Promise<Mps> | Mps {
  const { mpsPipes, mpsLogs } = pathsIn(directory);
  const folders = { pipes: mpsPipes, logs: mpsLogs };
  return gpu === "soft" ? startSoftMps(folders) : startMps(folders, env, log);
}
