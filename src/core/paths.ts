import { resolve } from "node:path";

/** Only root can make this directory, so its owner has root's permission. */
export const SYSTEM_DIRECTORY = "/run/cotenant";
export const SYSTEM_GRANTS = "/etc/cotenant/grants.json";

/**
 * Shells, cron, sudo and services of one user differ in XDG_RUNTIME_DIR, which a logout removes, so
 * it is not used. The path is absolute, because clients may change their folder.
 */
export function runDirectory(
  env: Readonly<Record<string, string | undefined>>,
  uid: number,
): string {
  if (env.COTENANT_DIR) return resolve(env.COTENANT_DIR);
  return `/tmp/cotenant-${uid}`;
}
