// Runs a command as a client of the agent: sets its environment and becomes it, so that no process of
// ours stays in between.
import { mkdirSync } from "node:fs";
import { basename } from "node:path";
import { type AgentFile, mpsEnvironment, pathsIn, runningAgent } from "#agent";
import { errors, usage } from "#core";
import { type Objective, parseObjective } from "#policy";
import { type ClientClass, severalRanks } from "#protocol";
import { agentHere, ownRunDirectory } from "../../client/ask.ts";
import { profileEnvironment } from "../../client/profile.ts";
import { type Args, bytes, choice, command, flag, list, text } from "../command.ts";
import { become } from "../../client/become.ts";
import { interposer, ptxasStandIn, softGpuFolder } from "../../core/package.ts";

const options = {
  class: choice(
    ["high", "best-effort"],
    undefined,
    "high: keeps its latency; best-effort: gets the rest",
  ),
  name: text("NAME", undefined, "shown by status; the command's name if not given"),
  slo: list(
    "p99=TIME|slowdown=PERCENT",
    "high: an objective, about its bursts (first submission to done, not arrival to done). p99=10ms: 99 % of them take at most so long; slowdown=5%: 99 % of them wait for the GPU at most so much of their p99 alone longer than alone (of a client whose profile says that it trains: its throughput is at most so much lower). Policies cotenant and slo act on it",
  ),
  profile: text(
    "NAME|FILE",
    undefined,
    "its profile on this GPU (cotenant profile), for policies that look at single kernels",
  ),
  memory: bytes(
    "BYTES",
    undefined,
    "best-effort: GPU memory it may allocate, such as 20GiB; no limit if not given",
  ),
  ungated: flag(
    "neither protected nor held back, though of this class: for jobs of several ranks, which can't be best-effort; status shows them as strangers",
  ),
};

export const runCommand = command({
  name: "run",
  summary: "run a command as a high or best-effort client",
  options,
  positional: {
    name: "-- COMMAND…",
    doc: "what to run, with its arguments",
    atLeast: 1,
    endsOptions: () => true,
  },
  examples: [
    "cotenant run --class high -- python3 serve.py",
    "cotenant run --class high --slo p99=10ms -- ./server",
    "cotenant run --class best-effort --memory 20GiB -- \\\n  python3 train.py",
  ],
  async run(args) {
    if (!args.class) throw errors.missingArgument("run", "--class high|best-effort");
    checkClass(args, args.class);
    const [program = "", ...rest] = args.positional;
    const objective = objectiveEnvironment(parseObjective(args.slo));
    const directory = ownRunDirectory();
    // Switched off, nothing of ours may stand in the way, a missing agent neither.
    const off = args.ungated || process.env.COTENANT_OFF === "1";
    const ranks = severalRanks(process.env);
    if (!off && args.class === "best-effort" && ranks) throw errors.severalRanks(ranks);
    if (off && !runningAgent(directory))
      return await become(program, rest, { ...process.env, COTENANT_OFF: "1" });
    const agent = agentHere(directory);
    const added = {
      ...objective,
      ...clientEnvironment(args, args.class, basename(program), { directory, agent }),
      ...(args.profile === undefined
        ? {}
        : await profileEnvironment(args.profile, agent, directory)),
    };
    return await become(program, rest, { ...process.env, ...added });
  },
});

/** What would do nothing is refused: whoever gives it counts on it. */
function checkClass({ slo, memory }: Args<typeof options>, kind: ClientClass): void {
  if (kind === "best-effort" && slo.length > 0)
    throw usage("--slo is for --class high: best-effort clients have no objective.");
  if (kind === "high" && memory !== undefined)
    throw usage("--memory is for --class best-effort: a high client may allocate what there is.");
  if (memory === 0) throw usage("--memory 0: a client needs some.", "Leave it out for no limit.");
}

function clientEnvironment(
  args: Args<typeof options>,
  kind: ClientClass,
  program: string,
  { directory, agent }: { readonly directory: string; readonly agent: AgentFile },
): Record<string, string> {
  return {
    ...(args.ungated || process.env.COTENANT_OFF === "1"
      ? { COTENANT_OFF: "1" }
      : { LD_PRELOAD: inFront(interposer(process.env), process.env.LD_PRELOAD) }),
    COTENANT_CLASS: kind,
    COTENANT_SOCKET: agent.socket,
    COTENANT_NAME: args.name ?? program,
    ...(args.memory === undefined ? {} : { COTENANT_MEMORY: String(args.memory) }),
    ...(kind === "best-effort" && agent.stopsKernels ? compilerEnvironment(process.env) : {}),
    ...(agent.gpu === "soft" ? softGpuEnvironment(directory) : {}),
    ...(agent.mode === "mps" ? mpsClientEnvironment(directory, kind) : {}),
  };
}

/** Triton's kernels get forms that stop inside as they are assembled; a ptxas that the user has named is kept. */
function compilerEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const standIn = ptxasStandIn();
  const given = env.TRITON_PTXAS_PATH;
  if (standIn === undefined || basename(given ?? "") === basename(standIn)) return {};
  return { TRITON_PTXAS_PATH: standIn, ...(given ? { COTENANT_PTXAS: given } : {}) };
}

function objectiveEnvironment({ p99Us, slowdown }: Objective): Record<string, string> {
  return {
    ...(p99Us === undefined ? {} : { COTENANT_SLO_P99_US: String(Math.round(p99Us)) }),
    ...(slowdown === undefined
      ? {}
      : { COTENANT_SLO_SLOWDOWN: String(Math.round(slowdown * 1000)) }),
  };
}

/** Of several agents that are to share one software GPU, COTENANT_SOFTGPU_DIR says where it is. */
function softGpuEnvironment(directory: string): Record<string, string> {
  const softGpu = process.env.COTENANT_SOFTGPU_DIR ?? pathsIn(directory).softGpu;
  mkdirSync(softGpu, { recursive: true, mode: 0o700 });
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
