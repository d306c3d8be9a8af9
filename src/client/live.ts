import { request } from "node:http";
import type { AgentFile } from "#agent";
import { errors } from "#core";
import { type EventHandlers, eventParser } from "#dashboard";

const SILENT_AFTER_MS = 6000; // the agent sends once a second
const FULL = 503;

export function readLive(
  agent: AgentFile,
  handlers: EventHandlers,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) =>
      signal.aborted ? resolve() : reject(errors.agentSilent(agent.pid, why));
    const question = request(
      {
        host: "127.0.0.1",
        port: agent.port,
        path: "/dashboard/live",
        headers: { authorization: `Bearer ${agent.token}` },
        timeout: SILENT_AFTER_MS,
        signal,
        agent: false,
      },
      (answer) => {
        const { statusCode } = answer;
        if (statusCode !== 200) {
          answer.resume();
          if (statusCode === FULL) reject(errors.tooManyWatch(agent.pid));
          else fail(`HTTP status ${statusCode}`);
          return;
        }
        answer.setEncoding("utf8");
        answer.on("data", eventParser(handlers));
        answer.on("error", ({ message }) => fail(message));
        answer.on("end", resolve);
      },
    );
    question.on("timeout", () =>
      question.destroy(new Error(`nothing in ${SILENT_AFTER_MS / 1000} s`)),
    );
    question.on("error", ({ message }) => fail(message));
    question.end();
  });
}
