// Runs a command as a client of the agent. It sets the environment and replaces this process by the command, so that no
// process of Cotenant stays in between.
import { basename } from "node:path";
import {
  agentHere,
  become,
  clientEnvironment,
  findAgent,
  objectiveEnvironment,
  profileEnvironment,
} from "#client";
import { errors, usage } from "#core";
import { parseObjective } from "#policy";
import { type ClientClass, severalRanks } from "#protocol";
import { type Args, bytes, choice, command, flag, list, text } from "../command.ts";

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
    // If Cotenant is switched off, nothing of it may stop the command, not even a missing agent.
    const off = args.ungated || process.env.COTENANT_OFF === "1";
    const ranks = severalRanks(process.env);
    if (!off && args.class === "best-effort" && ranks) throw errors.severalRanks(ranks);
    if (off && !findAgent())
      return await become(program, rest, { ...process.env, COTENANT_OFF: "1" });
    const found = agentHere();
    const added = {
      ...objective,
      ...clientEnvironment(
        { kind: args.class, name: args.name ?? basename(program), memory: args.memory, off },
        found,
      ),
      ...(args.profile === undefined
        ? {}
        : profileEnvironment(args.profile, found.agent, found.directory)),
    };
    return await become(program, rest, { ...process.env, ...added });
  },
});

/** Refuses options that would have no effect, because the user relies on them. */
function checkClass({ slo, memory }: Args<typeof options>, kind: ClientClass): void {
  if (kind === "best-effort" && slo.length > 0)
    throw usage("--slo is for --class high: best-effort clients have no objective.");
  if (kind === "high" && memory !== undefined)
    throw usage("--memory is for --class best-effort: a high client may allocate what there is.");
  if (memory === 0) throw usage("--memory 0: a client needs some.", "Leave it out for no limit.");
}
