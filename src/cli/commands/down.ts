import { setTimeout as pause } from "node:timers/promises";
import { isRunning } from "#agent";
import { askToStop, ownAgentHere } from "#client";
import { errors } from "#core";
import { command, json } from "../command.ts";

const STOPPED_WITHIN_MS = 15_000;

export const downCommand = command({
  name: "down",
  summary: "stop the agent; running jobs go on with the rules they have",
  options: { json },
  async run(args) {
    const { directory, agent } = ownAgentHere();
    await askToStop(agent);
    const until = performance.now() + STOPPED_WITHIN_MS;
    while (isRunning(directory, agent)) {
      if (performance.now() > until) throw errors.agentSilent(agent.pid, "it does not end");
      await pause(20);
    }
    console.log(args.json ? JSON.stringify({ stopped: agent.pid }) : `Agent ${agent.pid} stopped.`);
    return 0;
  },
});
