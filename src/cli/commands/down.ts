import { setTimeout as pause } from "node:timers/promises";
import { type AgentFile, isRunning } from "#agent";
import { agentsInWords, askToStop, type Found, ownAgentHere, ownRunDirectory } from "#client";
import { errors, UserError } from "#core";
import { command, json } from "../program/command.ts";

const STOPPED_WITHIN_MS = 15_000;

export const downCommand = command({
  name: "down",
  summary: "stop the agent; running jobs go on with the rules they have",
  options: { json },
  async run(args) {
    try {
      const pid = await stop(ownAgentHere());
      console.log(args.json ? JSON.stringify({ stopped: pid }) : `Agent ${pid} stopped.`);
    } catch (error) {
      if (!(error instanceof UserError && error.code === "NO_AGENT")) throw error;
      const elsewhere = agentsInWords(ownRunDirectory());
      console.log(
        args.json ? JSON.stringify({ stopped: null }) : [error.message, ...elsewhere].join(" "),
      );
    }
    return 0;
  },
});

async function stop({ directory, agent }: Found<AgentFile>): Promise<number> {
  await askToStop(agent);
  const until = performance.now() + STOPPED_WITHIN_MS;
  while (isRunning(directory, agent)) {
    if (performance.now() > until) throw errors.agentSilent(agent.pid, "it does not end");
    await pause(20);
  }
  return agent.pid;
}
