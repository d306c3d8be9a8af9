// How a command talks to the agent.

import { request } from "node:http";
import {
  type AgentFile,
  checkDirectory,
  isAgentFileDamaged,
  isLocked,
  pathsIn,
  runningAgent,
  type Status,
} from "#agent";
import { errors, runDirectory } from "#core";

const ANSWER_WITHIN_MS = 5000;

export const ownUid = (): number => process.getuid?.() ?? 0;

export const ownRunDirectory = (): string => runDirectory(process.env, ownUid());

/** Throws a UserError when no agent runs. */
export function agentHere(directory = ownRunDirectory()): AgentFile {
  checkDirectory(directory, ownUid());
  const agent = runningAgent(directory);
  if (agent) return agent;
  if (!isLocked(directory)) throw errors.noAgent(directory);
  throw isAgentFileDamaged(directory)
    ? errors.agentFileDamaged(pathsIn(directory).file)
    : errors.agentNotReady(directory);
}

export async function askStatus(agent: AgentFile): Promise<Status> {
  // The agent of this directory is of this version: both come from one package.
  const answer = await ask(agent, "GET", "/status");
  try {
    return JSON.parse(answer) as Status;
  } catch {
    throw errors.agentSilent(agent.pid, `what port ${agent.port} says is no status`);
  }
}

export const askToStop = (agent: AgentFile): Promise<string> => ask(agent, "POST", "/stop");

// Not fetch: it refuses ports that browsers refuse, and the port is the user's choice.
function ask(agent: AgentFile, method: "GET" | "POST", path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(errors.agentSilent(agent.pid, why));
    const question = request(
      {
        host: "127.0.0.1",
        port: agent.port,
        path,
        method,
        headers: { authorization: `Bearer ${agent.token}` },
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
        agent: false,
      },
      (answer) => {
        let body = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk) => {
          body += chunk;
        });
        answer.on("error", (fault) => fail(fault.message));
        answer.on("end", () => {
          const { statusCode = 0 } = answer;
          if (statusCode >= 200 && statusCode < 300) resolve(body);
          else fail(`HTTP status ${statusCode}`);
        });
      },
    );
    question.on("error", (fault) =>
      fail(fault.name === "AbortError" ? `not within ${ANSWER_WITHIN_MS / 1000} s` : fault.message),
    );
    question.end();
  });
}
