import { setTimeout as pause } from "node:timers/promises";
import {
  type AgentFile,
  type BestEffortStatus,
  isCalled,
  type ParkCommand,
  type SentCommand,
  type Status,
} from "#agent";
import { askStatus, askToPark, ownAgentHere } from "#client";
import { errors, gibibytes, type UserError, usage } from "#core";

/** Queued work is let finish; the driver's checkpoint takes 0.6 s a GB (docs/results/memory.md). */
const DONE_WITHIN_MS = 180_000;
/** Memory that does not fit now may do so much later. */
const FITS_WITHIN_MS = 10_000;

export const whoToMove = {
  name: "NAME|PID",
  doc: "a best-effort client; one that was started with --movable moves at least ten times as fast",
  atLeast: 1,
};

/** Resolves to the exit status. Throws a UserError that says what stands in the way. */
export async function moveClients(
  wish: ParkCommand,
  [called = "", ...more]: readonly string[],
  asJson: boolean,
): Promise<number> {
  if (more.length > 0) throw usage(`${wish} is about one client at a time.`);
  const moved = await moveClient(ownAgentHere().agent, wish, called);
  if (asJson) console.log(JSON.stringify(moved.map(resultOf), null, 2));
  else for (const one of moved) console.log(`${describe(wish, one)}.`);
  return 0;
}

function notFound({ gpus }: Status, called: string): UserError {
  const high = gpus.flatMap((gpu) => gpu.high).find((client) => isCalled(client, called));
  return high ? errors.highClientStays(high.name, high.pid) : errors.noSuchClient(called);
}

export async function moveClient(
  agent: AgentFile,
  wish: ParkCommand,
  called: string,
): Promise<readonly BestEffortStatus[]> {
  const asked = await askToPark(agent, wish, called);
  if (asked.length === 0) throw notFound(await askStatus(agent), called);
  const moved = [];
  for (const one of asked) moved.push(await settled(agent, wish, one));
  return moved;
}

async function settled(
  agent: AgentFile,
  wish: ParkCommand,
  { gpu, pid, name, asked }: SentCommand,
): Promise<BestEffortStatus> {
  const began = performance.now();
  for (;;) {
    const { gpus } = await askStatus(agent);
    const client = clientOn(gpus, gpu, pid);
    const waited = performance.now() - began;
    const failed = (why: string, cure?: string): UserError =>
      errors.notMoved(
        `${name} (pid ${pid}) is ${wish === "park" ? "not parked" : "not back"}`,
        why,
        cure,
      );
    if (!client?.memory) throw failed("it has ended");
    const { state, reason, answered, movable } = client.memory;
    if (answered === asked) {
      if (state === (wish === "park" ? "parked" : "open")) return client;
      throw failed(
        reason ?? "another command came after this one",
        movable
          ? undefined
          : "Started with --movable it is parked without the driver's checkpoint.",
      );
    }
    // Without a reason its memory is on its way, however long that takes.
    const isKeptOut = wish === "resume" && state === "returning" && reason !== undefined;
    if (isKeptOut && waited > FITS_WITHIN_MS)
      throw failed(`${reason}; it returns as soon as it fits`);
    if (waited > DONE_WITHIN_MS) throw failed(`no answer within ${DONE_WITHIN_MS / 1000} s`);
    await pause(20);
  }
}

/** Throws unless they are of one job. */
export function onlyJob(status: Status, called: string) {
  const all = bestEffortOn(status);
  const found = all.filter(({ client }) => isCalled(client, called));
  const [first, ...others] = found.map(({ client }) => client);
  if (!first) throw notFound(status, called);
  if (others.some((other) => !areOneJob(first, other)))
    throw usage(`There are ${found.length} clients "${called}".`, "Name one by its pid.");
  return all.map(({ client }) => client).filter((client) => areOneJob(first, client));
}

/** An older agent says nothing of jobs. */
const areOneJob = (one: BestEffortStatus, other: BestEffortStatus): boolean =>
  one === other || (one.job !== undefined && one.job === other.job);

const bestEffortOn = ({ gpus }: Status) =>
  gpus.flatMap((gpu) => gpu.bestEffort.map((client) => ({ gpu, client })));

/** Throws unless there is exactly one. */
export function onlyClient(status: Status, called: string) {
  const found = bestEffortOn(status).filter(({ client }) => isCalled(client, called));
  const [one, other] = found;
  if (!one) throw notFound(status, called);
  if (other) throw usage(`There are ${found.length} clients "${called}".`, "Name one by its pid.");
  return one;
}

export const clientOn = (gpus: Status["gpus"], gpu: string, pid: number) =>
  gpus.find(({ uuid }) => uuid === gpu)?.bestEffort.find((candidate) => candidate.pid === pid);

const resultOf = ({ name, pid, memory }: BestEffortStatus) => ({ name, pid, memory });

function describe(wish: ParkCommand, { name, pid, memory }: BestEffortStatus): string {
  const ms = wish === "park" ? memory?.parkMs : memory?.returnMs;
  const took = ms === undefined ? "" : ` in ${(ms / 1000).toFixed(2)} s`;
  const who = `${name} (pid ${pid})`;
  const moved = gibibytes(memory?.bytes ?? 0);
  if (wish === "park")
    return `${who}: ${moved} are parked${memory?.byDriver ? " by the driver's checkpoint" : ""}${took}`;
  return memory?.movable ? `${who}: ${moved} are back${took}` : `${who}: all of it is back${took}`;
}
