import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { basename } from "node:path";
import { ms, packageVersion, wallNow } from "#core";
import { withOverrides } from "#policy";
import { removeUnusedBuilds } from "./builds/builds.ts";
import { metricsToken } from "./connections/metrics-token.ts";
import { openListener } from "./connections/socket.ts";
import { launchesIn } from "./directory/launches.ts";
import { Notes } from "./directory/notes.ts";
import { type AgentFile, pathsIn } from "./directory/state.ts";
import { type HttpDoor, serveHttp } from "./http.ts";
import type { AnswerLaunch } from "./launches/launching.ts";
import { Trouble } from "./log/trouble.ts";
import { Opened } from "./opened.ts";
import type { AgentOptions } from "./options.ts";
import { ordersTo } from "./orders.ts";
import { openParts, type Parts } from "./parts.ts";
import { Rounds } from "./rounds.ts";
import { SOFT_GPU_NAME } from "./sensors/softgpu.ts";
import type { Status } from "./status/status.ts";
import { pidNamespace, startTimeOf } from "./system/index.ts";
import { noVariantMaker } from "./variants/index.ts";
import { explain } from "./why.ts";
import { type SlowBurst, watchSlowBursts } from "./words/slow-bursts.ts";

const TIDY_PERIOD = ms(600_000);
const NOTES_PERIOD = ms(1000);

export interface Agent {
  readonly file: AgentFile;
  status(): Status;
  /** Watches high clients; the returned function gives their longest bursts and the causes. */
  watchSlowBursts(most: number): () => readonly SlowBurst[];
  readonly stopped: Promise<void>;
  stop(because: string): Promise<void>;
}

/** Throws a UserError when something that a person can put right stands in the way. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const opened = new Opened();
  try {
    return await start(options, opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function start(options: AgentOptions, opened: Opened): Promise<Agent> {
  const { directory, clock, mode, policy, overrides, scope = "user" } = options;
  const paths = pathsIn(directory);
  const parts = await openParts(options, opened);
  const { log, registry, watch } = parts;
  let finish = () => {};
  const stopped = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let stopping: Promise<void> | undefined;
  const stop = (because: string) => {
    stopping ??= (async () => {
      log("stopping", { because });
      await opened.close();
      finish();
    })();
    return stopping;
  };

  const token = randomBytes(32).toString("hex");
  const tokenFile = options.metricsToken ?? paths.metricsToken;
  const reportItself = selfReport(options, parts);
  const status = (): Status => {
    const gpus = watch.statuses.of(registry.gpus);
    const strangers = new Set(
      gpus.flatMap((gpu) => gpu.strangers.flatMap(({ pid, launch }) => [pid, launch])),
    );
    return {
      agent: {
        ...reportItself(),
        port: http.port,
        metrics: { address: http.metricsAddress, tokenFile },
      },
      launched: launchesIn(directory).filter(({ pid }) => !strangers.has(pid)),
      gpus,
    };
  };
  let ready = false;
  const http: HttpDoor = await serveHttp({
    ...{ token, clock, status, ...ordersTo(parts, () => notes.write()) },
    port: options.port,
    metricsToken: metricsToken(tokenFile, options.uid),
    metricsAddress: options.metricsAddress,
    ready: () => ready,
    known: () => ({
      status: status(),
      served: registry.gpus,
      history: parts.history,
      events: parts.events.entries,
      now: clock.now(),
      wall: wallNow(),
    }),
    why: (pid) => {
      const why = explain(pid, parts.admission, status());
      return { ...why, identity: watch.statuses.withName(why.identity) };
    },
    stop: () => stop("asked to"),
  });
  opened.add(() => http.close());

  const socket = scope === "machine" ? paths.sharedSocket : paths.socket;
  const { port, metricsAddress: metrics } = http;
  const describe = fileOf(options, parts, { socket, port, token });
  const notes = new Notes(directory, describe, log);
  const rounds = new Rounds(parts, options, opened);
  const { stopsKernels } = describe();
  const changed = () => {
    notes.write();
    rounds.noteChange(stopsKernels);
  };
  rmSync(socket, { force: true }); // the lock is ours, so nobody listens there
  const { identify } = options;
  const answerLaunch: AnswerLaunch = (request) => options.answerLaunch?.(describe())(request);
  const variants = parts.queue ?? noVariantMaker;
  const { reporters } = parts;
  const door = await openListener(socket, registry, clock, changed, {
    ...{ scope, variants, identify, reporters, answerLaunch },
  });
  opened.add(() => door.close());

  notes.begin();
  changed();
  ready = true;
  opened.add(() => {
    ready = false;
    notes.end(registry.gpus.some(({ clients }) => clients.length > 0));
  });
  const { pid } = process;
  const { gpu } = options;
  log("started", {
    pid,
    version: packageVersion(),
    ...(options.build === undefined ? {} : { build: basename(options.build) }),
    mode,
    policy: policy.name,
    gpu,
    scope,
    port,
    metrics,
    ...overrides,
  });
  rounds.begin();
  const tidy = () => {
    const removed = options.build === undefined ? [] : removeUnusedBuilds(options.build);
    for (const build of removed) log("build removed", { build });
  };
  tidy();
  opened.add(clock.every(TIDY_PERIOD, tidy));
  const unopened = new Trouble(log, "socket not opened");
  opened.add(
    clock.every(NOTES_PERIOD, () => {
      const ours = notes.look();
      if (ours === false) void stop("another agent has its directory");
      else if (ours)
        door.look().then(
          () => unopened.end(),
          (error) => unopened.note(error),
        );
    }),
  );
  return {
    file: describe(),
    status,
    watchSlowBursts: (most) => watchSlowBursts(parts.history, status, most),
    stopped,
    stop,
  };
}

function selfReport(
  { mode, policy, gpu, scope = "user", clock }: AgentOptions,
  { mps }: Parts,
): () => Omit<Status["agent"], "port" | "metrics"> {
  const startedAt = clock.now();
  const cpuAtStart = process.cpuUsage();
  return () => {
    const upSeconds = (clock.now() - startedAt) / 1e9;
    const { user, system } = process.cpuUsage(cpuAtStart);
    return {
      pid: process.pid,
      ...{ mode, policy: policy.name, gpu, scope, upSeconds },
      cpuShare: upSeconds > 0 ? (user + system) / 1e6 / upSeconds : 0,
      residentBytes: process.memoryUsage.rss(),
      mpsRestarts: mps?.restarts ?? 0,
    };
  };
}

// Clients and commands find the agent by this file, and the next agent finds this one's clients.
function fileOf(
  { mode, policy, overrides, gpu, scope = "user", build }: AgentOptions,
  { watch, registry }: Parts,
  doors: Pick<AgentFile, "socket" | "port" | "token">,
): () => AgentFile {
  const isolated = mode === "isolated";
  const { preemptUs } = withOverrides(policy.rules({ isolated, high: [] }, undefined), overrides);
  const constant = {
    version: packageVersion(),
    build,
    pid: process.pid,
    startTime: startTimeOf(process.pid) ?? 0,
    pidNamespace: pidNamespace(),
    ...{ scope, ...doors, mode, policy: policy.name, gpu },
    stopsKernels: preemptUs > 0,
  };
  return () => ({
    ...constant,
    // The software GPU is listed from its first client on.
    gpuNames: gpu === "soft" ? [SOFT_GPU_NAME] : watch.readings.map(({ name }) => name),
    gpus: registry.records(),
  });
}
