import { readFileSync } from "node:fs";
import { pidsOf, readOrNothing } from "../system/index.ts";
import { type Origin, originIn } from "./cgroup.ts";
import { fromRoot, namespaceBegin } from "./cgroup-namespace.ts";

export interface Identity extends Origin {
  /** The agent's namespaces decide pid, user and groups. */
  readonly pid: number;
  readonly uid: number;
  readonly user?: string | undefined;
  readonly gid: number;
  readonly groups: readonly number[];
  readonly onHost: boolean;
}

/** A process keeps its cgroup namespace. */
let begin: string | undefined;

/** `user` comes from the socket, or else from /proc. Returns undefined if the process has ended. */
export function identityOf(
  pid: number,
  user?: { readonly uid: number; readonly gid: number },
): Identity | undefined {
  const status = readOrNothing(`/proc/${pid}/status`);
  if (status === undefined) return undefined;
  begin ??= namespaceBegin();
  const origin = originIn(fromRoot(readOrNothing(`/proc/${pid}/cgroup`) ?? "", begin));
  const pids = pidsOf(pid);
  return {
    ...origin,
    pid,
    // Real, effective, saved and file system user: SO_PEERCRED reports the second, too.
    uid: user?.uid ?? numbersIn(status, "Uid")[1] ?? -1,
    gid: user?.gid ?? numbersIn(status, "Gid")[1] ?? -1,
    groups: numbersIn(status, "Groups"),
    onHost: origin.container === undefined && pids.length === ownPids().length,
  };
}

const ownPids = () => numbersIn(readFileSync("/proc/self/status", "utf8"), "NSpid");

function numbersIn(status: string, name: string): readonly number[] {
  const line = status.split("\n").find((each) => each.startsWith(`${name}:`)) ?? "";
  return line
    .slice(name.length + 1)
    .split(/\s+/)
    .filter(Boolean)
    .map(Number);
}

/** "uid 1000 (alice), container 0123456789ab, pod …" */
export const describeIdentity = (of: Identity): string =>
  [describeUser(of), describeOrigin(of)].filter(Boolean).join(", ");

export const describeUser = ({ uid, user }: Pick<Identity, "uid" | "user">): string =>
  `uid ${uid}${user === undefined ? "" : ` (${user})`}`;

export const withUserName = (text: string, nameOf: (uid: number) => string | undefined): string =>
  text.replace(/^uid (\d+)(?=,|$)/, (_, uid) => {
    return describeUser({ uid: Number(uid), user: nameOf(Number(uid)) });
  });

export const describeOrigin = (of: Origin): string =>
  [
    of.container && `container ${of.container.slice(0, SHORT_ID)}`,
    of.pod && `pod ${of.pod}`,
    of.slurmJob && `Slurm job ${of.slurmJob}`,
    of.unit && `unit ${of.unit}`,
  ]
    .filter(Boolean)
    .join(", ");

const SHORT_ID = 12;

export function tenantOf({ container, slurmJob, uid }: Identity): string {
  if (container !== undefined) return `container ${container}`;
  return slurmJob === undefined ? `uid ${uid}` : `Slurm job ${slurmJob}`;
}
