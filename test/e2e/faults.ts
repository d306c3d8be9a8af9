// Faults that a machine may suffer at any moment, and what must hold after each; shared by the sample in
// `npm test` and the thousand of `npm run soak`.
import { closeSync, fstatSync, openSync, writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { openFilesOf, REGION_LINK } from "#agent";
import type { Random } from "#core";
import type { ClientClass } from "#protocol";
import { type Client, eventually, type Machine } from "./machine.ts";

const forEver = ["--warmup", "0.1", "--seconds", "3600"];
const shape = (words: string): readonly string[] => [...words.split(" "), ...forEver];

/** A service that is busy a fifth of the time. */
export const service = shape("--arrivals uniform --rate 50 --kernels 20 --kernel-us 200");

/** A service that is never idle: the next request is there before the last one is done. */
export const busyService = shape(
  "--arrivals closed --depth 2 --await event-sync --kernels 20 --kernel-us 500",
);

/** Training: always another iteration to run. */
export const training = shape("--arrivals closed --depth 2 --kernels 20 --kernel-us 150");

/** From the start of the command: its own start, hello, calibration, warm-up, service. */
export const INSTANTS_MS = 1500;

/** Starts a client, kills it so many ms later, and waits until nothing of it is left on the machine. */
export const killClient = (
  machine: Machine,
  kind: ClientClass,
  shape: readonly string[],
  afterMs: number,
): Promise<void> => killLater(machine, kind, machine.load(kind, shape), afterMs);

export const victim = fileURLToPath(new URL("../../build/native/tests/victim", import.meta.url));
/** In which it is killed: from the start of its process to a while after it has begun to work. */
export const QUICK_INSTANTS_MS = 120;

/** The same of one that starts within milliseconds. */
export async function killQuickClient(
  machine: Machine,
  kind: ClientClass,
  what: "work" | "endless" | "memory",
  afterMs: number,
): Promise<void> {
  await killLater(machine, kind, await machine.native(kind, [victim, what]), afterMs);
}

async function killLater(machine: Machine, kind: ClientClass, victim: Client, afterMs: number) {
  await pause(afterMs);
  victim.signal("SIGKILL");
  await victim.ended;
  await nothingLeftOf(machine, victim, `a ${kind} client killed after ${afterMs} ms`);
}

/** No slot, no bit, and no hold that nobody will lift. */
async function nothingLeftOf(machine: Machine, victim: Client, name: string): Promise<void> {
  await eventually(`${name} holds no slot`, async () => !(await machine.slotOf(victim)));
  // Others may come and go meanwhile, so that each sample asks again who is there.
  await eventually(`the bits of ${name} are cleared, and no pause flag stays closed`, async () => {
    const { agent, gpus } = await machine.status();
    expect(agent.pid).toBe(machine.agent().pid);
    const [gpu] = gpus;
    if (gpu?.served === undefined) return true; // it was never on the GPU, or the last there
    const { roster, holds } = machine.memory();
    const { high, bestEffort } = gpu;
    const highBits = high.reduce((bits, { slot }) => bits + 2 ** slot, 0);
    const bestEffortBits = bestEffort.reduce((bits, { slot }) => bits | (1 << slot), 0);
    return (
      roster.registered === high.length &&
      (roster.waiting & ~bestEffortBits) === 0 &&
      bestEffort.every(({ slot }) => {
        const hold = holds[slot];
        if ((BigInt(hold?.active ?? 0) & ~BigInt(highBits)) !== 0n) return false;
        // Without high clients nobody is held. A word may be closed for a moment by a turn.
        return high.length > 0 || hold?.word === 0;
      })
    );
  });
}

/** Kills the agent, lets the clients be alone for this long, and starts another. */
export async function replaceAgent(machine: Machine, aloneMs: number): Promise<void> {
  await machine.killAgent();
  await pause(aloneMs);
  await machine.up();
}

/** Stops the agent's process for this long. */
export async function freezeAgent(machine: Machine, ms: number): Promise<void> {
  const { pid } = machine.agent();
  process.kill(pid, "SIGSTOP");
  await pause(ms);
  process.kill(pid, "SIGCONT");
}

/** Overwrites what clients may write with noise, here and there and again and again, for about so long. */
export async function writeNoise(machine: Machine, ms: number, random: Random): Promise<void> {
  const files = openFilesOf(machine.agent().pid, `${REGION_LINK}-`).map((path) =>
    openSync(path, "r+"),
  );
  for (let passed = 0; passed < ms; passed += 15) {
    for (let i = 0; i < 20; i++) for (const fd of files) scribble(fd, random);
    await pause(15);
  }
  for (const fd of files) closeSync(fd);
}

function scribble(fd: number, random: Random): void {
  const { size } = fstatSync(fd);
  const at = Math.floor(random() * size);
  const noise = Uint8Array.from({ length: 1 + Math.floor(random() * 64) }, () => random() * 256);
  writeSync(fd, noise, 0, Math.min(noise.length, size - at), at);
}
