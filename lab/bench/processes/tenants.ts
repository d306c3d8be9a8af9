// Jobs as users of their own in PID, mount, IPC and network namespaces of their own, as pods have them. Needs root.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { usage } from "#core";
import type { ClientClass } from "#protocol";

const uids = { high: 1000, "best-effort": 2000 } as const;

/** The words before the command of a job. */
export function asTenant(kind: ClientClass, directory: string): readonly string[] {
  const uid = `${uids[kind]}`;
  return [
    ...["unshare", "--pid", "--mount", "--ipc", "--net", "--fork", "--kill-child", "--mount-proc"],
    ...["setpriv", "--pdeathsig=KILL", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"],
    // Those users have no entry in the user database, and PyTorch looks for a name.
    ...["env", `HOME=${homeOf(directory, uid)}`, `LOGNAME=user-${uid}`],
  ];
}

/** Jobs of all users write their answers there. Throws a UserError if this user can't start jobs as others. */
export function openToTenants(directory: string): void {
  if (process.getuid?.() !== 0)
    throw usage("Jobs of several users can only be started by root.", "Leave the arrangement out.");
  chmodSync(directory, 0o777);
  for (const uid of Object.values(uids)) {
    const home = homeOf(directory, `${uid}`);
    mkdirSync(home, { recursive: true, mode: 0o777 });
    chmodSync(home, 0o777);
  }
}

const homeOf = (directory: string, uid: string) => `${directory}/home-${uid}`;

/** The file of grants of an agent for these users. */
export function writeGrants(directory: string): string {
  const path = `${directory}/grants.json`;
  const grants = [
    { name: "service", to: { user: uids.high }, class: "high" },
    { name: "training", to: { user: uids["best-effort"] }, class: "best-effort" },
  ];
  writeFileSync(path, JSON.stringify({ version: 1, grants }), { mode: 0o644 });
  return path;
}
