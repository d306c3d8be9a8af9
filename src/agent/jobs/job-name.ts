// Which job a client belongs to. `cotenant run` names it in COTENANT_JOB, which all processes of one start inherit. The
// name counts within its tenant alone, so that nobody joins another one's job.
import { createHash } from "node:crypto";
import type { ClientClass } from "#protocol";
import { rankIn } from "#protocol";
import { environmentOf, lineageOf } from "../system/index.ts";
import { type Identity, identityOf, tenantOf } from "../tenants/index.ts";

export interface JobName {
  /** undefined: the process is a job of its own. */
  readonly text: string | undefined;
  /** Its number among the ranks that a launcher such as torchrun has started. */
  readonly rank: number | undefined;
}

export const ownJob: JobName = { text: undefined, rank: undefined };

export function jobNameOf(identity: Identity): JobName {
  try {
    const { pid } = identity;
    const rank = rankIn(Object.fromEntries(environmentOf(pid)))?.rank;
    return { text: statedJob(pid) ?? containerJob(identity), rank };
  } catch {
    return ownJob; // this process can open no file now
  }
}

/** A program that changes its title overwrites its environment in /proc. Its parent has the same job. */
function statedJob(pid: number): string | undefined {
  for (const one of lineageOf(pid)) {
    const env = environmentOf(one);
    if (env.has("COTENANT_CLASS")) return env.get("COTENANT_JOB") || undefined;
  }
  return undefined;
}

/** A container that the agent is in, too, holds all jobs of the machine. */
const containerJob = ({ container }: Identity): string | undefined =>
  container !== undefined && container !== ownContainer() ? "its container" : undefined;

let own: { readonly container: string | undefined } | undefined;

function ownContainer(): string | undefined {
  own ??= { container: identityOf(process.pid)?.container };
  return own.container;
}

interface Named {
  readonly class: ClientClass;
  readonly pid: number;
  readonly startTime: number;
  readonly identity: Identity | undefined;
  readonly job: JobName;
}

const ids = new WeakMap<Named, string>();

/** The same for all clients of a job, and after a restart of the agent. It shows nothing of the name, which a tenant states. */
export function jobId(client: Named): string {
  const known = ids.get(client);
  if (known !== undefined) return known;
  const { class: kind, pid, startTime, identity, job } = client;
  const words =
    job.text === undefined || !identity
      ? ["process", `${pid}`, `${startTime}`]
      : ["job", tenantOf(identity), job.text];
  const id = createHash("sha256")
    .update(JSON.stringify([kind, ...words]))
    .digest("hex");
  const short = id.slice(0, ID_DIGITS);
  ids.set(client, short);
  return short;
}

const ID_DIGITS = 12;
