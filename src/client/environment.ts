import { existsSync, mkdirSync } from "node:fs";
import { basename } from "node:path";
import { mpsEnvironment, noteLaunch, pathsIn, type Service, startTimeOf } from "#agent";
import { assemblerStandIns, interposer, type Micros, ncclLibrary, softGpuFolder } from "#core";
import { type Objective, objectiveTexts, statedIn } from "#policy";
import { type ClientClass, rankIn, severalRanks } from "#protocol";
import type { Found } from "./ask.ts";

type Variables = Readonly<Record<string, string | undefined>>;

export interface ClientOptions {
  readonly kind: ClientClass;
  readonly name: string;
  readonly memory: number | undefined; // undefined: no limit
  /** A number limits the bytes of host memory. */
  readonly movable?: boolean | number;
  readonly parkAfter?: Micros | undefined; // it is parked when it is idle for this long
  readonly off: boolean;
}

export function clientEnvironment(
  options: ClientOptions,
  { directory, agent }: Found,
  env: Variables = process.env,
): Record<string, string> {
  const { kind } = options;
  const root = agent.build !== undefined && existsSync(agent.build) ? agent.build : undefined;
  return {
    ...environmentAt(agent.socket, options, env, root),
    ...(kind === "best-effort" && agent.stopsKernels ? compilerEnvironment(env, root) : {}),
    ...(agent.gpu === "soft" ? softGpuEnvironment(directory, agent, env, root) : {}),
    ...(agent.mode === "mps" ? mpsClientEnvironment(directory, kind) : {}),
  };
}

/** The program becomes a client of an agent that listens later. `root`: the library's package. */
export const environmentAt = (
  socket: string | undefined,
  { kind, name, memory, movable = false, parkAfter, off }: ClientOptions,
  env: Variables = process.env,
  root?: string,
): Record<string, string> => ({
  ...(off ? { COTENANT_OFF: "1" } : { LD_PRELOAD: preloaded(kind, env, root) }),
  COTENANT_CLASS: kind,
  COTENANT_SOCKET: socket ?? "",
  COTENANT_NAME: name,
  ...(memory === undefined ? {} : { COTENANT_MEMORY: String(memory) }),
  ...(movable === false ? {} : { COTENANT_MOVABLE: "1" }),
  ...(parkAfter === undefined
    ? {}
    : { COTENANT_PARK_AFTER_MS: String(Math.ceil(parkAfter / 1e3)) }),
  ...(typeof movable === "number" ? { COTENANT_PARK_HOST: String(movable) } : {}),
});

/** The interposer in front; NCCL's names behind it for a rank of a gang alone, because every program would find them. */
function preloaded(kind: ClientClass, env: Variables, root: string | undefined): string {
  const path = interposer(env, root);
  const isRank = kind === "best-effort" && severalRanks(env) !== undefined;
  const nccl = isRank ? ncclLibrary(path) : undefined;
  const given = env.LD_PRELOAD?.includes("/libcotenant-nccl.so") ? undefined : nccl;
  return inFront(path, given ? inFront(given, env.LD_PRELOAD) : env.LD_PRELOAD);
}

const compilerEnvironment = (env: Variables, root: string | undefined): Record<string, string> =>
  Object.fromEntries(
    assemblerStandIns(root).flatMap(({ variable, real, path }): [string, string][] => {
      const given = env[variable] ?? "";
      if (basename(given) === basename(path)) return [];
      return given === ""
        ? [[variable, path]]
        : [
            [variable, path],
            [real, given],
          ];
    }),
  );

export function launchEnvironment(
  { kind, name }: ClientOptions,
  { directory, agent }: Found,
  pid: number,
): Record<string, string> {
  // Nobody but the machine's agent may write into its directory.
  const note =
    agent.scope === "user" ? noteLaunch(directory, { pid, name, class: kind }) : undefined;
  return note === undefined ? {} : { COTENANT_LAUNCHED: note };
}

/** All processes of one start are one job, and so are ranks that a launcher has started one by one. */
export const jobEnvironment = (pid: number, env: Variables = process.env) => ({
  COTENANT_JOB: env.COTENANT_JOB || rankIn(env)?.job || `${pid} ${startTimeOf(pid) ?? 0}`,
});

/**
 * `metrics`: address where the service reports its requests. Agents that do not read COTENANT_SLO
 * find in the other variables what these can say.
 */
export function objectiveEnvironment(
  objective: Objective,
  metrics: string | undefined,
): Record<string, string> {
  const { p99Us, slowdown, requests } = objective;
  const limits = statedIn(requests ?? {})
    .filter(({ quantile }) => quantile === "p99")
    .map(({ kind, limitUs }) => [
      `COTENANT_SLO_${kind.toUpperCase()}_US`,
      `${Math.round(limitUs)}`,
    ]);
  const texts = objectiveTexts(objective);
  return {
    ...(texts.length > 0 ? { COTENANT_SLO: texts.join(" ") } : {}),
    ...Object.fromEntries(limits),
    ...(metrics === undefined ? {} : { COTENANT_SLO_METRICS: metrics }),
    ...(p99Us === undefined ? {} : { COTENANT_SLO_P99_US: String(Math.round(p99Us)) }),
    ...(slowdown === undefined
      ? {}
      : { COTENANT_SLO_SLOWDOWN: String(Math.round(slowdown * 1000)) }),
  };
}

function softGpuEnvironment(
  directory: string,
  { scope }: Service,
  env: Variables,
  root: string | undefined,
): Record<string, string> {
  const softGpu = env.COTENANT_SOFTGPU_DIR ?? pathsIn(directory).softGpu;
  if (scope === "user") mkdirSync(softGpu, { recursive: true, mode: 0o700 });
  return {
    LD_LIBRARY_PATH: inFront(softGpuFolder(root), env.LD_LIBRARY_PATH),
    COTENANT_SOFTGPU_DIR: softGpu,
  };
}

function mpsClientEnvironment(directory: string, kind: ClientClass): Record<string, string> {
  const { mpsPipes, mpsLogs } = pathsIn(directory);
  return {
    ...mpsEnvironment({ pipes: mpsPipes, logs: mpsLogs }),
    CUDA_MPS_CLIENT_PRIORITY: kind === "high" ? "0" : "1",
  };
}

const inFront = (path: string, rest: string | undefined) => (rest ? `${path}:${rest}` : path);
