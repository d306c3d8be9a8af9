// An agent in the process of the test, which ends with the test.
import { onTestFinished } from "vitest";
import { type Agent, type AgentOptions, startAgent } from "#agent";
import { systemClock } from "#core";
import { policyNamed } from "#policy";
import { temporaryDirectory } from "./fakes.ts";

export async function startAgentHere(change: Partial<AgentOptions> = {}): Promise<Agent> {
  const agent = await startAgent({
    directory: change.directory ?? temporaryDirectory(),
    uid: process.getuid?.() ?? 0,
    gpu: "soft",
    mode: "isolated",
    policy: policyNamed("strict"),
    overrides: {},
    port: 0,
    env: {},
    clock: systemClock,
    log: () => {},
    ...change,
  });
  onTestFinished(() => agent.stop("the test is over"));
  return agent;
}
