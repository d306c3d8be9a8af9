// The command replaces this process, so that no process of Cotenant stays in between. A launcher
// (native/launcher) that has started it is told instead.
import { writeSync } from "node:fs";
import {
  agentFor,
  become,
  type ClientOptions,
  clientEnvironment,
  environmentAt,
  findAgent,
  ignoreInherited,
  jobEnvironment,
  launchEnvironment,
  profileEnvironment,
  socketToCome,
  takeInherited,
  waitForGpu,
} from "#client";
import { UserError } from "#core";
import { command } from "../../program/command.ts";
import { notices, type Run, type RunArgs, readRun, runLine, withoutAgent } from "./options.ts";

export const runCommand = command({
  ...runLine,
  async run(args) {
    const inherited = takeInherited(process.env);
    const { launcher } = inherited;
    ignoreInherited(inherited);
    const run = readRun(args, process.env);
    for (const line of notices(run, args.positional, process.env)) say(line);
    const variables = await variablesOf(args, run, launcher?.pid ?? process.pid);
    const [program = "", ...rest] = args.positional;
    if (!launcher) return await become(program, rest, { ...process.env, ...variables }, inherited);
    const place = process.argv.length - 1 - args.positional.length;
    launcher.answer({ program: place, variables, message: "" });
    return 0;
  },
});

/** Waits while no GPU takes the process `pid`. */
async function variablesOf(
  args: RunArgs,
  { client, objective }: Run,
  pid: number,
): Promise<Record<string, string>> {
  const { kind, name, off } = client;
  if (off && !findAgent()) return { COTENANT_OFF: "1" };
  const agent = await agentFor(withoutAgent(args, kind), say);
  const waits = !off && kind === "best-effort" && !(agent instanceof UserError);
  const wait = { name, atMost: args["wait-at-most"], env: process.env, report: say };
  const found = waits ? await waitForGpu(agent, wait) : agent;
  const { profile } = args;
  const added =
    found instanceof UserError
      ? unprotected(found, client, profile)
      : {
          ...clientEnvironment(client, found),
          ...(off ? {} : launchEnvironment(client, found, pid)),
          ...(profile === undefined
            ? {}
            : profileEnvironment(profile, found.agent, found.directory)),
        };
  return { ...objective, ...(off ? {} : jobEnvironment(pid)), ...added };
}

/** Says why the client is not protected. */
function unprotected(
  { message, hint }: UserError,
  options: ClientOptions,
  profile: string | undefined,
): Record<string, string> {
  const socket = socketToCome();
  const until = socket === undefined ? "" : " until an agent comes";
  const without = profile === undefined ? "" : ", and without its profile";
  const why = `${message.charAt(0).toLowerCase()}${message.slice(1)} ${hint}`.trim();
  say(`"${options.name}" runs unprotected${until}${without}: ${why}`);
  // The interposer does not say it again.
  return { ...environmentAt(socket, options), COTENANT_UNPROTECTED: "1" };
}

/** process.stderr must not be used before the process becomes another program (become.ts). */
function say(line: string): void {
  try {
    writeSync(2, `cotenant: ${line}\n`);
  } catch {
    // stderr is closed: that is no reason not to start the command
  }
}
