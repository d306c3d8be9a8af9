// Where an agent keeps its socket and state. A user's agent has a directory that only the user can enter. The machine's
// agent has one that all can read and only the agent can write to.
import { resolve } from "node:path";

/** The directory of the machine's agent. Only root can make it, so its owner has root's permission. */
export const SYSTEM_DIRECTORY = "/run/cotenant";
/** The grants file of the machine, unless another one is named. */
export const SYSTEM_GRANTS = "/etc/cotenant/grants.json";

/**
 * COTENANT_DIR, else /tmp/cotenant-UID. Not below XDG_RUNTIME_DIR: shells, cron, sudo and services of one user differ in
 * it, and it is removed when the user logs out. The path is absolute, because clients may change their folder. It is not
 * created here.
 */
export function runDirectory(
  env: Readonly<Record<string, string | undefined>>,
  uid: number,
): string {
  if (env.COTENANT_DIR) return resolve(env.COTENANT_DIR);
  return `/tmp/cotenant-${uid}`;
}
