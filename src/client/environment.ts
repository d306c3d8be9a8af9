// The variables that make a program a client: the interposer and what it is told.
import { mkdirSync } from "node:fs";
import { basename } from "node:path";
import { mpsEnvironment, noteLaunch, pathsIn, type Service } from "#agent";
import { assemblerStandIns, interposer, type Micros, softGpuFolder } from "#core";
import { type Objective, objectiveTexts, statedIn } from "#policy";
import type { ClientClass } from "#protocol";

/** The options that a program is run with. */
export interface ClientOptions {
  readonly kind: ClientClass;
  readonly name: string;
  /** GPU memory it may allocate; undefined: no limit. */
  readonly memory: number | undefined;
  /** Its memory can be parked; in at most this many bytes of host memory, where a number is given. */
  readonly movable?: boolean | number;
  /** A service parks its memory when it has been idle for this long. */
  readonly parkAfter?: Micros | undefined;
  /** The program is not a client: it is neither protected nor held back. */
  readonly off: boolean;
}

/** The variables that make a program a client of the agent that runs in `directory`. */
export function clientEnvironment(
  options: ClientOptions,
  { directory, agent }: { readonly directory: string; readonly agent: Service },
): Record<string, string> {
  const { kind } = options;
  return {
    ...environmentAt(agent.socket, options),
    ...(kind === "best-effort" && agent.stopsKernels ? compilerEnvironment(process.env) : {}),
    ...(agent.gpu === "soft" ? softGpuEnvironment(directory, agent) : {}),
    ...(agent.mode === "mps" ? mpsClientEnvironment(directory, kind) : {}),
  };
}

/** The same without an agent: the program becomes a client of the agent that listens at `socket` later. */
export const environmentAt = (
  socket: string | undefined,
  { kind, name, memory, movable = false, parkAfter, off }: ClientOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> => ({
  ...(off ? { COTENANT_OFF: "1" } : { LD_PRELOAD: inFront(interposer(env), env.LD_PRELOAD) }),
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

/** Triton's kernels get variants that stop inside as they are assembled; an assembler that the user has named is kept. */
const compilerEnvironment = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    assemblerStandIns().flatMap(({ variable, real, path }): [string, string][] => {
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

/** Tells the agent of a user that this process becomes a client, and the interposer where that is noted. */
export function launchEnvironment(
  { kind, name }: ClientOptions,
  { directory, agent }: { readonly directory: string; readonly agent: Service },
): Record<string, string> {
  // Nobody but the machine's agent may write into its directory.
  const note = agent.scope === "user" ? noteLaunch(directory, name, kind) : undefined;
  return note === undefined ? {} : { COTENANT_LAUNCHED: note };
}

/**
 * `metrics`: the endpoint at which the service reports its requests. COTENANT_SLO is the whole objective as a text. An agent that
 * does not read it finds in the other variables what these can say.
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

/** COTENANT_SOFTGPU_DIR names the folder of a software GPU that several agents share. */
function softGpuEnvironment(directory: string, { scope }: Service): Record<string, string> {
  const softGpu = process.env.COTENANT_SOFTGPU_DIR ?? pathsIn(directory).softGpu;
  // The folder of the machine's agent exists already.
  if (scope === "user") mkdirSync(softGpu, { recursive: true, mode: 0o700 });
  return {
    LD_LIBRARY_PATH: inFront(softGpuFolder(), process.env.LD_LIBRARY_PATH),
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
