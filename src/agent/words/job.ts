import { percent } from "#core";
import { type AsOne, type Job, pidsIn, sizeText } from "../status/jobs.ts";
import type { BestEffortStatus, HighStatus } from "../status/status.ts";
import { observersIn, slowestOf } from "../status/whole.ts";

type Client = HighStatus | BestEffortStatus;

/** undefined: the client is a job of one process. */
export const severalIn = <C extends Client>(client: C | AsOne<C>): AsOne<C> | undefined =>
  "size" in client && pidsIn(client).length > 1 ? client : undefined;

/** "train (pid 42)", "train (pids 42, 43)" */
export function nameWithPids(client: Client | Job): string {
  const pids = "members" in client ? pidsIn(client) : [client.pid];
  const shown = pids.slice(0, MAX_PIDS).join(", ");
  const more = pids.length - MAX_PIDS;
  return pids.length === 1
    ? `${client.name} (pid ${shown})`
    : `${client.name} (pids ${shown}${more > 0 ? ` and ${more} more` : ""})`;
}

const MAX_PIDS = 8;

/** It says what no process of a job shows alone. */
export function describeTraining(client: BestEffortStatus | AsOne<BestEffortStatus>): string[] {
  const { name, pid, gang } = client;
  const job = severalIn(client);
  const commits =
    gang &&
    `${gang.commits} of its collectives were committed, of which ${gang.timeouts} timed out waiting for other ranks`;
  if (!job)
    return commits ? [`${name} (pid ${pid}) is one of ${gang?.ranks} ranks: ${commits}`] : [];
  const facts = [speedText(job.members.map((member) => member.client)), commits];
  return [
    `${nameWithPids(job)} is one job of ${sizeText(job)}: ${facts.filter(Boolean).join("; ")}`,
  ];
}

/** "it retains 62 %, limited by rank 1 (pid 43)" */
function speedText(clients: readonly BestEffortStatus[]): string {
  const slowest = slowestOf(clients);
  const { keptShare } = slowest;
  if (keptShare === undefined) return "what it retains is not known yet";
  const differ = clients.some((other) => (other.keptShare ?? keptShare) - keptShare > SAME);
  return `it retains ${percent(keptShare)}${differ ? `, limited by ${rankText(slowest)}` : ""}`;
}

/** A smaller difference is none. */
const SAME = 0.01;

/** "rank 1 (pid 43)", "pid 43" */
export const rankText = ({ rank, pid }: Pick<Client, "rank" | "pid">): string =>
  rank === undefined ? `pid ${pid}` : `rank ${rank} (pid ${pid})`;

export function describeService(client: HighStatus | AsOne<HighStatus>): string[] {
  const job = severalIn(client);
  if (!job) return [];
  const several = new Set(observersIn(job.members).map(({ client }) => client.pid)).size > 1;
  const whose = several
    ? `several of them observe outputs, so bursts a second are added, and other figures are those of ${rankText(job)}, which fares worst`
    : `its figures are those of ${rankText(job)}, which observes its outputs`;
  const together = job.size.gpus > 1 ? `; ${togetherText(job)}` : "";
  return [`${nameWithPids(job)} is one service of ${sizeText(job)}: ${whose}${together}`];
}

/** An older agent says nothing of `holdsOn`. */
const togetherText = ({ members, size }: AsOne<HighStatus>): string =>
  members.every(
    ({ client: { pid, holdsOn = [] } }) => gpusOf(pid, members) + holdsOn.length >= size.gpus,
  )
    ? "while one is active, best-effort work waits on all of their GPUs"
    : "each process is protected on its own GPU alone: while one is active, best-effort work beside another one goes on";

const gpusOf = (pid: number, members: AsOne<HighStatus>["members"]): number =>
  new Set(members.flatMap(({ gpu, client }) => (client.pid === pid ? gpu : []))).size;
