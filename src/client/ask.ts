import { readFileSync, statSync } from "node:fs";
import { request } from "node:http";
import {
  type AgentFile,
  type AskedShare,
  checkDirectory,
  type Explanation,
  isAgentFileDamaged,
  isLocked,
  isTrusted,
  type ObjectiveChange,
  type ParkCommand,
  parseEntry,
  pathsIn,
  readAgentFile,
  runningAgent,
  runningService,
  type SentCommand,
  type Service,
  type Status,
} from "#agent";
import { errors, runDirectory, SYSTEM_DIRECTORY, type UserError } from "#core";
import { agentsElsewhere } from "./elsewhere.ts";

/** An agent that serves answers within milliseconds; where it gets no CPU time, within seconds. */
const ANSWER_WITHIN_MS = 5000;

export const ownUid = (): number => process.getuid?.() ?? 0;

export const ownRunDirectory = (): string => runDirectory(process.env, ownUid());

export const machineRunDirectory = (): string =>
  process.env.COTENANT_DIR ? ownRunDirectory() : SYSTEM_DIRECTORY;

/** The machine's agent serves a user without one; COTENANT_DIR names the only agent, if set. */
export interface Found<A extends Service = Service> {
  readonly directory: string;
  readonly agent: A;
}

export function findAgent(): Found | undefined {
  const own = ownRunDirectory();
  const directories = process.env.COTENANT_DIR ? [own] : [own, SYSTEM_DIRECTORY];
  for (const directory of directories) {
    if (!isTrusted(directory, ownUid())) continue;
    const agent = runningService(directory);
    if (agent?.scope === "user") checkDirectory(directory, ownUid());
    if (agent) return { directory, agent };
  }
  return undefined;
}

export function agentHere(): Found {
  const found = findAgent();
  if (found) return found;
  const directory = ownRunDirectory();
  checkDirectory(directory, ownUid());
  if (!isLocked(directory)) throw noAgent(directory);
  throw isAgentFileDamaged(directory)
    ? errors.agentFileDamaged(pathsIn(directory).file)
    : errors.agentNotReady(directory);
}

export function noAgent(directory: string): UserError {
  return errors.noAgent(directory, agentsInWords(directory), endedUnasked(directory));
}

export function agentsInWords(directory: string): readonly string[] {
  const others = agentsElsewhere(directory).map(({ directory: there, uid, scope }) => {
    if (scope === "machine")
      return {
        usable: true,
        says: `One for all users runs in ${there}; COTENANT_DIR=${there} leads to it.`,
      };
    return uid === ownUid()
      ? { usable: true, says: `One runs in ${there}; COTENANT_DIR=${there} leads to it.` }
      : { usable: false, says: `One runs in ${there}, for uid ${uid} alone.` };
  });
  const sorted = others.sort((a, b) => Number(b.usable) - Number(a.usable));
  return sorted.slice(0, MAX_NAMED).map(({ says }) => says);
}

/** Without a "stopping" after its last "started" in the log, an agent ended unasked. */
function endedUnasked(directory: string): number | undefined {
  const { log } = pathsIn(directory);
  try {
    // Reading a device such as /dev/full has no end.
    if (!statSync(log).isFile()) return undefined;
    const entries = readFileSync(log, "utf8").split("\n").map(parseEntry);
    const last = entries.findLast((one) => one?.event === "started" || one?.event === "stopping");
    return last?.event === "started" ? readAgentFile(directory)?.pid : undefined;
  } catch {
    return undefined; // there is no log
  }
}

const MAX_NAMED = 3;

/** Throws a UserError when no agent runs, or it is another user's. */
export function ownAgentHere(): Found<AgentFile> {
  const { directory, agent } = agentHere();
  const own = runningAgent(directory);
  if (!own) throw errors.agentOfOthers(agent.pid, directory);
  return { directory, agent: own };
}

/** @param withinMs how long the answer may take */
export async function askStatus(
  agent: AgentFile,
  withinMs: number = ANSWER_WITHIN_MS,
): Promise<Status> {
  // The agent of this directory is of this version: both come from one package.
  const answer = await ask(agent, "GET", "/status", withinMs);
  try {
    return JSON.parse(answer) as Status;
  } catch {
    throw errors.agentSilent(agent.pid, `what port ${agent.port} says is no status`);
  }
}

export async function askWhy(agent: AgentFile, pid: number): Promise<Explanation> {
  return JSON.parse(await ask(agent, "GET", `/why/${pid}`)) as Explanation;
}

export const askToPark = async (
  agent: AgentFile,
  wish: ParkCommand,
  called: string,
): Promise<readonly SentCommand[]> =>
  JSON.parse(await ask(agent, "POST", `/${wish}/${encodeURIComponent(called)}`)) as SentCommand[];

export const askToMove = async (
  agent: AgentFile,
  called: string,
  uuid: string,
): Promise<readonly SentCommand[]> =>
  JSON.parse(
    await ask(agent, "POST", `/move/${encodeURIComponent(called)}/${uuid}`),
  ) as SentCommand[];

/** `texts` are for `parseObjective`; empty takes the objective away. */
export async function askToState(
  agent: AgentFile,
  called: string,
  texts: readonly string[],
): Promise<readonly ObjectiveChange[]> {
  const query = texts.map((text) => `slo=${encodeURIComponent(text)}`).join("&");
  const path = `/objective/${encodeURIComponent(called)}?${query}`;
  return JSON.parse(await ask(agent, "POST", path)) as ObjectiveChange[];
}

/** A hold lasts for a minute unless it is asked again; `because` undefined lifts it. */
export const askToHold = (agent: AgentFile, uuid: string, because: string | undefined) =>
  ask(
    agent,
    "POST",
    because === undefined
      ? `/lift/${uuid}`
      : `/hold/${uuid}?because=${encodeURIComponent(because)}`,
  );

/** A share lasts for a minute unless it is asked again; `given` undefined takes it back. */
export function askToShare(
  agent: AgentFile,
  uuid: string,
  pod: string,
  given: AskedShare | undefined,
): Promise<string> {
  const path = `/share/${uuid}/${encodeURIComponent(pod)}`;
  if (given === undefined) return ask(agent, "DELETE", path);
  const { share, from } = given;
  return ask(agent, "POST", `${path}?share=${share}&from=${encodeURIComponent(from)}`);
}

export const askToStop = (agent: AgentFile): Promise<string> => ask(agent, "POST", "/stop");

// fetch refuses ports that browsers refuse, and the port is the user's choice.
function ask(
  agent: AgentFile,
  method: "GET" | "POST" | "DELETE",
  path: string,
  withinMs: number = ANSWER_WITHIN_MS,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(errors.agentSilent(agent.pid, why));
    const question = request(
      {
        host: "127.0.0.1",
        port: agent.port,
        path,
        method,
        headers: { authorization: `Bearer ${agent.token}` },
        signal: AbortSignal.timeout(withinMs),
        agent: false,
      },
      (answer) => {
        let body = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk) => {
          body += chunk;
        });
        answer.on("error", (error) => fail(error.message));
        answer.on("end", () => {
          const { statusCode = 0 } = answer;
          if (statusCode >= 200 && statusCode < 300) resolve(body);
          else fail(`HTTP status ${statusCode}`);
        });
      },
    );
    question.on("error", (error) =>
      fail(error.name === "AbortError" ? `not within ${withinMs / 1000} s` : error.message),
    );
    question.end();
  });
}
