// Clients of one job are shown as one: a training of several ranks, a service of several processes. All views are made of
// the jobs that are found here.
import type { BestEffortStatus, ClientStatus, GpuStatus, HighStatus } from "./status.ts";
import { type Member, observerOf, serviceOf, trainingOf } from "./whole.ts";

interface JobSize {
  readonly processes: number;
  readonly gpus: number;
}

/** Several clients as one. The figures are those of `members`; `size` is that of the whole job. */
export type AsOne<C extends ClientStatus> = C & {
  readonly members: readonly Member<C>[];
  /** Name, pid and slot are those of the client that stands for them, which is on this GPU. */
  readonly gpu: string;
  readonly size: JobSize;
};

export type Job = AsOne<HighStatus> | AsOne<BestEffortStatus>;

export interface GpuOfJobs extends GpuStatus {
  readonly high: readonly AsOne<HighStatus>[];
  readonly bestEffort: readonly AsOne<BestEffortStatus>[];
}

export interface Jobs {
  /** All jobs, each with all of its clients. */
  readonly all: readonly Job[];
  /** On each GPU the clients of a job there are one. */
  readonly gpus: readonly GpuOfJobs[];
}

export function jobsOf(gpus: readonly GpuStatus[]): Jobs {
  const high = membersOf(gpus, (gpu) => gpu.high);
  const bestEffort = membersOf(gpus, (gpu) => gpu.bestEffort);
  const sizes = new Map(
    [...groupsOf<ClientStatus>([...high, ...bestEffort])].map(([job, of]) => [job, sizeOf(of)]),
  );
  const services = (members: readonly Member<HighStatus>[], known: Known<HighStatus>) =>
    asOnes(members, { sizes, standIn: observerOf, figures: serviceOf, known });
  const trainings = (
    members: readonly Member<BestEffortStatus>[],
    known: Known<BestEffortStatus>,
  ) => asOnes(members, { sizes, standIn: ([first]) => first, figures: trainingOf, known });
  return {
    all: [...services(high, wholeServices), ...trainings(bestEffort, wholeTrainings)],
    gpus: gpus.map((gpu) => ({
      ...gpu,
      high: services(
        membersOf([gpu], ({ high }) => high),
        partServices,
      ),
      bestEffort: trainings(
        membersOf([gpu], ({ bestEffort }) => bestEffort),
        partTrainings,
      ),
    })),
  };
}

export const spansGpus = ({ size }: Pick<Job, "size">): boolean => size.gpus > 1;

/** "2 ranks on 2 GPUs", "3 processes"; empty for a job of one process on one GPU. */
export function sizeText(job: Job): string {
  const { processes, gpus } = job.size;
  if (processes * gpus === 1) return "";
  const ranks = "gang" in job ? job.gang?.ranks : undefined;
  const isOfRanks = ranks !== undefined || job.rank !== undefined;
  const kind = isOfRanks ? "rank" : "process";
  const of = ranks !== undefined && ranks > processes ? `${processes} of ${ranks}` : `${processes}`;
  const plural = of === "1" ? kind : isOfRanks ? "ranks" : "processes";
  return `${of} ${plural}${gpus > 1 ? ` on ${gpus} GPUs` : ""}`;
}

export const pidsIn = ({ members }: Pick<AsOne<ClientStatus>, "members">): readonly number[] => [
  ...new Set(members.map(({ client }) => client.pid)),
];

/** "42", or "42 +3" where three more processes are in it. */
export function pidText(job: Job): string {
  const more = pidsIn(job).length - 1;
  return more > 0 ? `${job.pid} +${more}` : `${job.pid}`;
}

/** "rank 1", "ranks 0, 1"; empty where no launcher has numbered them. */
export function ranksText({ members }: Pick<Job, "members">): string {
  const ranks = members.flatMap(({ client }) => client.rank ?? []);
  return ranks.length === 0 ? "" : `rank${ranks.length > 1 ? "s" : ""} ${ranks.join(", ")}`;
}

const membersOf = <C>(
  gpus: readonly GpuStatus[],
  on: (gpu: GpuStatus) => readonly C[],
): readonly Member<C>[] =>
  gpus.flatMap((gpu) => on(gpu).map((client) => ({ gpu: gpu.uuid, client })));

function groupsOf<C extends ClientStatus>(members: readonly Member<C>[]) {
  const groups = new Map<string, Member<C>[]>();
  for (const member of members) {
    const group = groups.get(keyOf(member.client));
    if (group) group.push(member);
    else groups.set(keyOf(member.client), [member]);
  }
  return groups;
}

/** An older agent says nothing of jobs. */
const keyOf = ({ job, class: kind, pid }: ClientStatus): string => job ?? `${kind} ${pid}`;

const sizeOf = (members: readonly Member<ClientStatus>[]): JobSize => ({
  processes: new Set(members.map(({ client }) => client.pid)).size,
  gpus: new Set(members.map(({ gpu }) => gpu)).size,
});

/** By the client that stands for them. What is as before stays the same object, which views compare. */
type Known<C extends ClientStatus> = WeakMap<C, AsOne<C>>;
const wholeServices: Known<HighStatus> = new WeakMap();
const wholeTrainings: Known<BestEffortStatus> = new WeakMap();
const partServices: Known<HighStatus> = new WeakMap();
const partTrainings: Known<BestEffortStatus> = new WeakMap();

interface Making<C extends ClientStatus> {
  readonly sizes: ReadonlyMap<string, JobSize>;
  readonly standIn: (members: readonly Member<C>[]) => Member<C> | undefined;
  readonly figures: (members: readonly Member<C>[], standIn: C) => C;
  readonly known: Known<C>;
}

function asOnes<C extends ClientStatus>(
  members: readonly Member<C>[],
  { sizes, standIn, figures, known }: Making<C>,
): readonly AsOne<C>[] {
  return [...groupsOf(members)].flatMap(([job, group]) => {
    const [size, one] = [sizes.get(job), standIn(group)];
    if (!size || !one) return [];
    const before = known.get(one.client);
    if (before && isSame(before, group, size)) return [before];
    const status = group.length === 1 ? one.client : figures(group, one.client);
    const now: AsOne<C> = { ...status, members: group, gpu: one.gpu, size };
    known.set(one.client, now);
    return [now];
  });
}

const isSame = <C extends ClientStatus>(
  before: AsOne<C>,
  members: readonly Member<C>[],
  { processes, gpus }: JobSize,
): boolean =>
  before.size.processes === processes &&
  before.size.gpus === gpus &&
  before.members.length === members.length &&
  before.members.every(
    ({ gpu, client }, i) => gpu === members[i]?.gpu && client === members[i]?.client,
  );
