import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { claimDirectory, isTrusted, pathsIn } from "#agent";
import { SYSTEM_DIRECTORY, UserError } from "#core";
import { agentHere, type Found, ownRunDirectory, ownUid } from "./ask.ts";

export type WithoutAgent = "run" | "wait" | "refuse";

const LOOK_AGAIN_MS = 200;

/** A UserError is returned if the command is to run without an agent. */
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

const passing = new Set(["NO_AGENT", "AGENT_NOT_READY", "AGENT_FILE_DAMAGED"]);

function throwUnlessPassing(obstacle: UserError): void {
  if (!passing.has(obstacle.code)) throw obstacle;
}

/** Throws an obstacle that does not end by itself. */
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
 * undefined where others could be at that place. The machine's agent is expected if one was here,
 * and none of this user's own.
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
