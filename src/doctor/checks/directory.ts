import { existsSync, mkdtempSync, rmdirSync } from "node:fs";
import { dirname } from "node:path";
import { checkDirectory, isTrusted, pathsIn, runningService } from "#agent";
import { errors, runDirectory, UserError } from "#core";
import { type Finding, fail, pass } from "../facts/finding.ts";
import type { Surroundings } from "../facts/surroundings.ts";

const LONGEST_SOCKET = 107;

export function checkRunDirectory({ env, uid }: Surroundings): Finding {
  const check = "run directory";
  const directory = runDirectory(env, uid);
  if (isTrusted(directory, uid) && runningService(directory)?.scope === "machine")
    return pass(check, `${directory} is that of an agent for all users.`);
  try {
    checkDirectory(directory, uid);
    if (Buffer.byteLength(pathsIn(directory).socket) > LONGEST_SOCKET)
      throw errors.pathTooLong(pathsIn(directory).socket);
    tryFolderIn(nearest(directory), directory);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return fail(check, error.message, error.hint);
  }
  return existsSync(directory)
    ? pass(check, `${directory} belongs to this user, and nobody else may enter it.`)
    : pass(check, `${directory} is not there yet; "cotenant up" can make it.`);
}

const nearest = (path: string): string => (existsSync(path) ? path : nearest(dirname(path)));

/** access(2) lets root write to file systems that refuse. */
function tryFolderIn(path: string, directory: string): void {
  try {
    rmdirSync(mkdtempSync(`${path}/.cotenant-`));
  } catch (error) {
    throw errors.directoryNotMade(directory, errors.whyOf(error));
  }
}
