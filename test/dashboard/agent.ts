// An agent in the process of the test, whose time stands still unless the test advances it.
import { pathsIn } from "#agent";
import { ms } from "#core";
import { bucketOf } from "#protocol";
import { startAgentHere } from "../agent/agent-here.ts";
import { attach, HandClock, temporaryDirectory } from "../agent/fakes.ts";

export async function agentHere(directory = temporaryDirectory(), port = 0) {
  const clock = new HandClock();
  const agent = await startAgentHere({ clock, directory, port });
  return { agent, clock, directory, socket: pathsIn(directory).socket };
}

/** A service with bursts and a training, and an agent whose time stands still: what it says does not change. */
export async function agentWithTwo() {
  const { agent, clock, directory, socket } = await agentHere();
  const service = await attach(socket, { class: "high", name: "serve", sloSlowdownPermille: 100 });
  const training = await attach(socket, { class: "best-effort", name: "<b>train</b>" });
  clock.advance(ms(1000));
  const high = service.memory().high[service.welcome.slot];
  const bestEffort = training.memory().bestEffort[training.welcome.slot];
  if (!high || !bestEffort) throw new Error("no slot");
  for (let i = 1; i <= 12; i++) {
    high.histogram.set(bucketOf(3_000_000), i);
    high.waits.set(bucketOf(2_000_000), i);
    high.bursts = i;
    high.busyNs = i * 3_000_000;
    high.aheadNs = i * 80_000;
    high.aheadMaxNs = 900_000;
    bestEffort.finishedNs = i * 150e6;
    bestEffort.heldNs = i * 25e6;
    clock.advance(ms(250));
  }
  return { agent, clock, directory, service, training };
}
