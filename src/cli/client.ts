// How a command talks to the agent.

import { request } from "node:http";
import { type AgentFile, checkDirectory, isLocked, runningAgent, type Status } from "#agent";
import { errors, runDirectory } from "#core";

const ANSWER_WITHIN_MS = 5000;

export const ownUid = (): number => process.getuid?.() ?? 0;

export const ownRunDirectory = (): string => runDirectory(process.env, ownUid());

/** Throws a UserError when no agent runs. */
export function agentHere(directory = ownRunDirectory()): AgentFile {
  checkDirectory(directory, ownUid());
  const agent = runningAgent(directory);
  if (!agent) throw isLocked(directory) ? errors.agentUnseen(directory) : errors.noAgent(directory);
  return agent;
}

export async function askStatus(agent: AgentFile): Promise<Status> {
  // The agent of this directory is of this version: both come from one package.
  return JSON.parse(await ask(agent, "GET", "/status")) as Status;
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
