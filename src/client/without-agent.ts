// Decides about a command where no agent can be used: a high one runs without, unless the user demands one.
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { claimDirectory, isTrusted, pathsIn } from "#agent";
import { SYSTEM_DIRECTORY, UserError } from "#core";
import { agentHere, type Found, ownRunDirectory, ownUid } from "./ask.ts";

/** refuse: the command is not started. */
export type WithoutAgent = "run" | "wait" | "refuse";

const LOOK_AGAIN_MS = 200;

/**
 * The agent for a command, or what stands in the way of having one, if the command is to run without. `tell`: gets what
 * the user must know while the command waits.
 */
export async function agentFor(
  without: WithoutAgent,
  tell: (line: string) => void,
): Promise<Found | UserError> {
  for (let told = false; ; told = true) {
    const found = agentOrObstacle();
    if (!(found instanceof UserError) || without === "run") return found;
    if (without === "refuse") throw found;
    throwUnlessPassing(found);
    if (!told) tell(`Waiting for an agent. ${found.message} ${found.hint}`);
    await pause(LOOK_AGAIN_MS);
  }
}

/** Errors that end when an agent comes. */
const passing = new Set(["NO_AGENT", "AGENT_NOT_READY", "AGENT_FILE_DAMAGED"]);

function throwUnlessPassing(obstacle: UserError): void {
  if (!passing.has(obstacle.code)) throw obstacle;
}

/** The agent, or what keeps it from being there and ends when it comes. Throws what does not end by itself. */
export function agentNow(): Found | UserError {
  const found = agentOrObstacle();
  if (found instanceof UserError) throwUnlessPassing(found);
  return found;
}

function agentOrObstacle(): Found | UserError {
  try {
    return agentHere();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
}

/**
 * The socket where the client is to look for an agent that comes later; undefined where others could be at that place.
 * The machine's agent, if one has been here, and none of this user's own.
 */
export function socketToCome(): string | undefined {
  const own = ownRunDirectory();
  const machine = pathsIn(SYSTEM_DIRECTORY);
  if (
    !process.env.COTENANT_DIR &&
    !existsSync(pathsIn(own).lock) &&
    existsSync(machine.shared) &&
    isTrusted(SYSTEM_DIRECTORY, ownUid())
  )
    return machine.sharedSocket;
  try {
    claimDirectory(own, ownUid());
    return pathsIn(own).socket;
  } catch {
    return undefined;
  }
}
