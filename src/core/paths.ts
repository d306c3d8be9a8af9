// Where a user's agent keeps its socket and state: a directory only they can enter.
import { resolve } from "node:path";

/** Absolute: clients may change their folder. COTENANT_DIR, else $XDG_RUNTIME_DIR/cotenant, else /tmp/cotenant-UID. Not created here. */
export function runDirectory(
  env: Readonly<Record<string, string | undefined>>,
  uid: number,
): string {
  if (env.COTENANT_DIR) return resolve(env.COTENANT_DIR);
  if (env.XDG_RUNTIME_DIR) return `${env.XDG_RUNTIME_DIR}/cotenant`;
  return `/tmp/cotenant-${uid}`;
}
