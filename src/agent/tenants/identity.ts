// The identity of a client, from the kernel alone: its user and groups, its cgroup, and whether it is a process of
// the host.
import { readFileSync } from "node:fs";
import { pidsOf, readOrNothing } from "../system/index.ts";
import { type Origin, originIn } from "./cgroup.ts";
import { fromRoot, namespaceBegin } from "./cgroup-namespace.ts";

export interface Identity extends Origin {
  /** The pid as the agent sees it, as are the user and the groups. */
  readonly pid: number;
  readonly uid: number;
  /** The name of that user; only in a status, and where it is known. */
  readonly user?: string | undefined;
  readonly gid: number;
  /** Supplementary groups. */
  readonly groups: readonly number[];
  /** Whether it is in no container, and in the agent's PID namespace. */
  readonly onHost: boolean;
}

/** A process keeps its cgroup namespace. */
let begin: string | undefined;

/** `user`: from the socket; undefined: it is read from /proc. Returns undefined if the process has ended. */
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
    // The second of real, effective, saved and file system user: the effective one, which SO_PEERCRED also reports.
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

/** For people and logs: "uid 1000 (alice), container 0123456789ab, pod …". */
export const describeIdentity = (of: Identity): string =>
  [describeUser(of), describeOrigin(of)].filter(Boolean).join(", ");

export const describeUser = ({ uid, user }: Pick<Identity, "uid" | "user">): string =>
  `uid ${uid}${user === undefined ? "" : ` (${user})`}`;

/** In what describeIdentity has written, as logs have it: the user with a name. */
export const withUserName = (text: string, nameOf: (uid: number) => string | undefined): string =>
  text.replace(/^uid (\d+)(?=,|$)/, (_, uid) => {
    return describeUser({ uid: Number(uid), user: nameOf(Number(uid)) });
  });

/** The same without the user. */
export const describeOrigin = (of: Origin): string =>
  [
    of.container && `container ${of.container.slice(0, SHORT_ID)}`,
    of.pod && `pod ${of.pod}`,
    of.slurmJob && `Slurm job ${of.slurmJob}`,
    of.unit && `unit ${of.unit}`,
  ]
    .filter(Boolean)
    .join(", ");

/** Container tools show this many digits of an id. */
const SHORT_ID = 12;

/** The tenant, whose processes share slots: a container, else a Slurm job, else a user. */
export function tenantOf({ container, slurmJob, uid }: Identity): string {
  if (container !== undefined) return `container ${container}`;
  return slurmJob === undefined ? `uid ${uid}` : `Slurm job ${slurmJob}`;
}
