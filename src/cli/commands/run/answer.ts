// The agent answers a launcher with the same parser, without a start of Node.
import { statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { AnswerLaunch, LaunchRequest, Service } from "#agent";
import { clientEnvironment, hasToWait, jobEnvironment, launchEnvironment } from "#client";
import { UserError } from "#core";
import { commandNames, laboratoryCommands } from "../../names/names.ts";
import { configFiles, readConfig } from "../../program/config.ts";
import { asksForHelp, parse, separateCommand } from "../../program/parse.ts";
import { lineOf } from "../../program/start.ts";
import { notices, type RunArgs, readRun, runLine } from "./options.ts";

/** It knows only the build of the package in `root`: launchers of others ask their own Node. */
export function answersIn(directory: string, root: string): (agent: Service) => AnswerLaunch {
  const build = buildAt(root);
  return (agent) => (request) => {
    const isSame = build !== undefined && request.root === root && buildAt(root) === build;
    if (!isSame || isLeftToNode(request)) return undefined;
    try {
      return answer(request, { directory, agent });
    } catch (error) {
      if (!(error instanceof UserError)) return undefined; // Node finds it, too, and says where
      return { message: `${lineOf("cotenant", error)}\n`, status: error.exitStatus };
    }
  };
}

function answer(
  { args: words, env, pid, ofOwnUser, ask }: LaunchRequest,
  found: { readonly directory: string; readonly agent: Service },
): ReturnType<AnswerLaunch> {
  const given = separateCommand(runLine, words.slice(2));
  if (asksForHelp(given)) return undefined;
  const names = [...commandNames, ...laboratoryCommands];
  const args = parse(runLine, given, readConfig(runLine, names, configFiles(env))) as RunArgs;
  const run = readRun(args, env);
  const { client, objective } = run;
  const { kind, off } = client;
  // Its file has to be read, and waiting is no matter for the agent.
  if (args.profile !== undefined) return undefined;
  if (!off && kind === "best-effort" && hasToWait(found.agent, env, pid, ask)) return undefined;
  const variables = {
    ...objective,
    ...clientEnvironment(client, found, env),
    ...(off ? {} : { ...launchEnvironment(client, found, pid), ...jobEnvironment(pid, env) }),
  };
  // Another user's programs are not for the agent to read.
  const lines = ofOwnUser ? notices(run, args.positional, env, `/proc/${pid}/cwd`) : [];
  const message = lines.map((line) => `cotenant: ${line}\n`).join("");
  return { program: words.length - args.positional.length, variables, message };
}

/** Their paths mean something else here, or the agent can't read files as the launcher's user. */
function isLeftToNode({ env, ofOwnUser }: LaunchRequest): boolean {
  const { COTENANT_CONFIG: config, COTENANT_LIB: library } = env;
  if (config || (library && !(ofOwnUser && isAbsolute(library)))) return true;
  return !ofOwnUser && configFiles(env).some((file) => !file.startsWith("/etc/"));
}

/** It changes with each build, and is undefined where there is none. */
function buildAt(root: string): string | undefined {
  const { ino, mtimeMs } =
    statSync(join(root, "dist/cotenant.js"), { throwIfNoEntry: false }) ?? {};
  return ino === undefined ? undefined : `${ino} ${mtimeMs}`;
}
