import { runningAgent } from "#agent";
import { agentHere, askStatus } from "#client";
import { packageVersion, UserError } from "#core";
import { type Finding, fail, pass, warn } from "../facts/finding.ts";
import { gpusOf, type Surroundings } from "../facts/surroundings.ts";

export async function checkAgent(around: Surroundings): Promise<Finding> {
  const check = "agent";
  try {
    const { directory, agent } = agentHere();
    const { pid, version = "that it does not say", mode, policy, gpu } = agent;
    const who = `Agent ${pid} in ${directory}`;
    if (version !== packageVersion())
      return fail(
        check,
        `${who} is of version ${version}, and this command of version ${packageVersion()}.`,
        'Start it again: "cotenant down", then "cotenant up". Running jobs go on.',
      );
    if (gpu === "soft" && gpusOf(around).length > 0)
      return warn(
        check,
        `${who} serves the software GPU, although there is an NVIDIA GPU.`,
        'Start it again: "cotenant down", then "cotenant up".',
      );
    const own = runningAgent(directory);
    if (!own) return pass(check, `${who} belongs to another user and serves all users.`);
    const { gpus } = await askStatus(own);
    const clients = gpus.reduce((sum, one) => sum + one.high.length + one.bestEffort.length, 0);
    return pass(check, `${who} answers: mode ${mode}, policy ${policy}, ${clients} clients.`);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const made = error.code === "NO_AGENT" ? warn : fail;
    return made(check, error.message, error.hint);
  }
}
