// An agent of which nothing is wanted but variants.
import { closeSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  admitAll,
  makeVariants,
  noVariantStore,
  openListener,
  Registry,
  type VariantMaker,
} from "#agent";
import { welcomeStatus } from "#protocol";
import { HandClock } from "../agent/fakes.ts";

/** Makes variants in this process, at once: what starts a process could be late on a busy machine. */
const variantsHere = (change = (ptx: string) => ptx): VariantMaker => ({
  ask(path) {
    const made = makeVariants(path, noVariantStore);
    if ("reason" in made) throw new Error(made.reason);
    const { fd, wholeWarps } = made;
    const changed = change(readFileSync(`/proc/self/fd/${fd}`, "utf8"));
    writeFileSync(`/proc/self/fd/${fd}`, changed);
    const reply = { status: welcomeStatus.ok, slot: wholeWarps ? 1 : 0, files: [fd], reason: "" };
    return { answer: Promise.resolve({ reply, done: () => closeSync(fd) }), giveUp() {} };
  },
});

/** Returns the socket of an agent that makes variants. `change` is applied to what it makes. */
export async function agentIn(folder: string, change?: (ptx: string) => string): Promise<string> {
  const socket = join(folder, "agent.sock");
  const clock = new HandClock();
  const registry = new Registry({
    agentPid: process.pid,
    now: () => clock.now(),
    log: () => {},
    prepare: () => {},
    knows: () => undefined,
    admission: admitAll,
  });
  const door = await openListener(socket, registry, clock, () => {}, {
    variants: variantsHere(change),
  });
  onTestFinished(() => door.close());
  return socket;
}
