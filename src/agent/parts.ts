// Opens all that must be there before a client can come.
import { dateNow, errors } from "#core";
import { claimDirectory, lockDirectory, pathsIn, readAgentFile } from "./directory/state.ts";
import type { ServedGpu } from "./gpus/gpu.ts";
import { checkKernel } from "./gpus/region.ts";
import { Registry } from "./gpus/registry.ts";
import { AskedHolds, GpuHealth, lookAfter } from "./health/index.ts";
import { History } from "./history/history.ts";
import { RecentEvents } from "./history/recent-events.ts";
import { guardClients, openHostGuard } from "./host/index.ts";
import { Changes } from "./log/changes.ts";
import { type Log, limitedLog } from "./log/log.ts";
import { newestEntries } from "./log/log-file.ts";
import { Room } from "./memory/index.ts";
import { type Mps, openNvml, startMps, startSoftMps } from "./nvidia/index.ts";
import type { Opened } from "./opened.ts";
import type { AgentOptions } from "./options.ts";
import { Reporters } from "./reporters/reporters.ts";
import { Requests } from "./requests/requests.ts";
import type { Sensor } from "./sensors/sensor.ts";
import { openSoftGpus, openToAll } from "./sensors/softgpu.ts";
import { AskedShares } from "./shares/asked-shares.ts";
import { UserNames } from "./system/index.ts";
import { type Admission, admissionByFile, admitAll } from "./tenants/index.ts";
import { VariantQueue } from "./variants/index.ts";
import { heldForJobs } from "./watch/job-gpus.ts";
import { Watch } from "./watch/watch.ts";

export interface Parts {
  readonly log: Log;
  readonly events: RecentEvents;
  readonly sensor: Sensor;
  readonly mps: Mps | undefined;
  readonly admission: Admission;
  readonly registry: Registry;
  readonly requests: Requests;
  readonly reporters: Reporters;
  readonly watch: Watch;
  readonly history: History;
  readonly changes: Changes;
  readonly holds: AskedHolds;
  readonly shares: AskedShares;
  readonly room: Room;
  readonly queue: VariantQueue | undefined;
  readonly guardHost: (gpus: readonly ServedGpu[]) => void;
  readonly lookAtHealth: () => void;
  readonly rewriteRules: (uuid: string) => void;
}

/** Throws a UserError when a person can put something right; `opened` must then be closed. */
export async function openParts(options: AgentOptions, opened: Opened): Promise<Parts> {
  const { directory, clock, mode, policy, overrides, scope = "user" } = options;
  const now = () => clock.now();
  const events = new RecentEvents(dateNow);
  const log = limitedLog(events.keeping(options.log), now);
  const tenants = scope === "machine";
  const admission = tenants ? admissionByFile(options.grants, options.uid, log) : admitAll;
  if (tenants) checkKernel();
  claimDirectory(directory, options.uid, scope);
  opened.add(lockDirectory(directory));
  events.begin(newestEntries(pathsIn(directory).log));

  const sensor = options.gpu === "soft" ? openSoftGpus(softGpuAt(options), now) : openNvml();
  const mps = mode === "mps" ? await mpsFor(options) : undefined;
  if (mps) opened.add(() => mps.stop());
  const guard = options.hostLimits && openHostGuard(options.hostLimits);
  if (guard) opened.add(() => guard.close());

  const requests = new Requests(clock);
  const reporters = new Reporters(log);
  const users = new UserNames();
  opened.add(() => users.close());
  const holds = new AskedHolds(now);
  const shares = new AskedShares(now);
  const isolated = mode === "isolated";
  const watch = new Watch({
    ...{ tenants, isolated, policy, overrides, clock, sensor, requests, reporters },
    health: () => health,
    askedHold: (uuid) => holds.reason(uuid),
    askedShare: (uuid, pod) => shares.of(uuid, pod),
    userName: (uid) => users.of(uid),
  });
  const { reserve = 0 } = options;
  for (const { name, memoryTotal } of watch.readings)
    if (memoryTotal === undefined && reserve > 0)
      log("reserve not kept", {
        gpu: name,
        because: "the driver does not say how much memory it has",
      });
    else if (memoryTotal !== undefined && reserve >= memoryTotal)
      throw errors.reserveTooLarge(reserve, name, memoryTotal);
  const health = new GpuHealth({
    options: options.health ?? { limits: {} },
    software: options.gpu === "soft",
    now,
    lateness: (uuid) => watch.lateness(uuid),
    error: () => mps?.error,
  });
  const changes = new Changes(log);
  const registry = new Registry({
    agentPid: process.pid,
    now,
    log,
    prepare: (gpu) => watch.writeRules(gpu),
    knows: (uuid) => sensor.knows(uuid),
    admission,
    leaves: (gpu, client) => {
      const standing = watch.statuses.standingOf(gpu, client, heldForJobs(registry.gpus)(client));
      if (standing) changes.noteLeaving(gpu.uuid, standing);
    },
    closedFor: (uuid) => health.refusal(uuid),
    // The operator's own words may name other users' pods.
    heldFor: (uuid) =>
      holds.reason(uuid) === undefined
        ? undefined
        : `An operator holds the best-effort work of ${uuid}.`,
    uuids: () => watch.readings.map(({ uuid }) => uuid),
  });
  opened.add(() => registry.close());
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
  const room = new Room({
    reserve,
    quantum: options.quantum ?? "auto",
    free: (uuid) => sensor.free(uuid),
    now,
    log,
  });
  const queue =
    options.variantProgram && new VariantQueue({ program: options.variantProgram, clock, log });
  if (queue) opened.add(() => queue.close());
  return {
    ...{ log, events, sensor, mps, admission, registry, requests, reporters, watch },
    ...{ holds, shares, room },
    history: new History(watch.meters, now()),
    changes,
    queue,
    guardHost: guard ? guardClients(guard, log) : () => {},
    lookAtHealth,
    rewriteRules,
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
