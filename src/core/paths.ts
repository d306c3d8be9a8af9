// Where an agent keeps its socket and state: a user's in a directory that only they can enter, the machine's in one that all
// can read and only the agent can write to.
import { resolve } from "node:path";

/** Of the agent of the machine. Only root can make it, so whoever owns it has root's permission. */
export const SYSTEM_DIRECTORY = "/run/cotenant";
/** What the operator of the machine allows to whom, unless another file is named. */
export const SYSTEM_GRANTS = "/etc/cotenant/grants.json";

/** Absolute: clients may change their folder. COTENANT_DIR, else $XDG_RUNTIME_DIR/cotenant, else /tmp/cotenant-UID. Not created here. */
export function runDirectory(
  env: Readonly<Record<string, string | undefined>>,
  uid: number,
): string {
  if (env.COTENANT_DIR) return resolve(env.COTENANT_DIR);
  if (env.XDG_RUNTIME_DIR) return `${env.XDG_RUNTIME_DIR}/cotenant`;
  return `/tmp/cotenant-${uid}`;
}
