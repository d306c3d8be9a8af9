// The figures of a job from those of its clients. A training is as fast as its slowest rank. Steps, objectives and idleness
// of a service are those of the client that observes outputs.
import type { MovableMemory } from "../memory/movable.ts";
import type { BestEffortStatus, HighStatus } from "./status.ts";

export interface Member<C> {
  readonly gpu: string;
  readonly client: C;
}

/** `first` stands for the job. */
export function trainingOf(
  members: readonly Member<BestEffortStatus>[],
  first: BestEffortStatus,
): BestEffortStatus {
  const clients = members.map(({ client }) => client);
  const sum = (of: (client: BestEffortStatus) => number) => total(clients.map(of));
  const most = (of: (client: BestEffortStatus) => number) => Math.max(...clients.map(of));
  const longest =
    clients.find(({ longestKernelUs }) => longestKernelUs === most(kernelUs)) ?? first;
  const onEach = gpusOf(members);
  return {
    ...first,
    launches: sum(({ launches }) => launches),
    unhooked: sum(({ unhooked }) => unhooked),
    caveats: clients.reduce((all, { caveats }) => all | caveats, 0),
    longestKernelUs: longest.longestKernelUs,
    longestKernel: longest.longestKernel,
    gang: gangOf(clients),
    gpuMemory: knownTotal(clients.map(({ gpuMemory }) => gpuMemory)),
    memoryUsed: sum(({ memoryUsed }) => memoryUsed),
    memoryQuota: clients.every(({ memoryQuota }) => memoryQuota > 0)
      ? sum(({ memoryQuota }) => memoryQuota)
      : 0,
    memoryRefusals: sum(({ memoryRefusals }) => memoryRefusals),
    memory: memoryOf(clients),
    aheadUs: Math.max(...onEach.map((those) => total(those.map(({ aheadUs }) => aheadUs)))),
    gpuShare: Math.min(...onEach.map((those) => total(those.map(({ gpuShare }) => gpuShare)))),
    heldShare: most(({ heldShare }) => heldShare),
    turnShare: most(({ turnShare }) => turnShare),
    cappedShare: most(({ cappedShare }) => cappedShare),
    keptShare: slowestOf(clients).keptShare,
    hold: clients.find(({ hold }) => hold && hold.ignored > 0)?.hold ?? first.hold,
    connected: clients.every(({ connected }) => connected),
  };
}

export const slowestOf = <C extends Pick<BestEffortStatus, "keptShare">>(
  clients: readonly C[],
): C =>
  clients.reduce((one, other) => ((other.keptShare ?? 1) < (one.keptShare ?? 1) ? other : one));

export function serviceOf(
  members: readonly Member<HighStatus>[],
  observer: HighStatus,
): HighStatus {
  const clients = members.map(({ client }) => client);
  return {
    ...observer,
    burstsPerS: burstsPerS(observersIn(members).map(({ client }) => client)),
    unhooked: total(clients.map(({ unhooked }) => unhooked)),
    caveats: clients.reduce((all, { caveats }) => all | caveats, 0),
    implausible: total(clients.map(({ implausible }) => implausible)),
    gpuMemory: knownTotal(clients.map(({ gpuMemory }) => gpuMemory)),
    aheadMaxUs: Math.max(...clients.map(({ aheadMaxUs }) => aheadMaxUs)),
    connected: clients.every(({ connected }) => connected),
  };
}

/**
 * The clients of a service that observe its outputs: those that report requests, else those whose program observes the
 * end of most of their bursts. Of the others what Cotenant writes behind their work shows it.
 */
export function observersIn<M extends Member<HighStatus>>(members: readonly M[]): readonly M[] {
  const reporting = members.filter(({ client }) => client.told !== undefined);
  if (reporting.length > 0) return reporting;
  const observing = members.filter(({ client }) => seesEnds(client));
  return observing.length > 0 ? observing : members;
}

/** Words that Cotenant writes behind its work show the end of few of its bursts. */
export const seesEnds = ({
  bursts,
  tailWrites,
}: Pick<HighStatus, "bursts" | "tailWrites">): boolean => bursts > 2 * tailWrites;

/** Several are workers that serve by themselves: the one that fares worst stands for them. */
export const observerOf = (
  members: readonly Member<HighStatus>[],
): Member<HighStatus> | undefined =>
  observersIn(members).toSorted(
    ({ client: one }, { client: other }) =>
      Number(isMissed(other)) - Number(isMissed(one)) ||
      (other.burstP99Us ?? 0) - (one.burstP99Us ?? 0),
  )[0];

const isMissed = ({ objective }: HighStatus): boolean =>
  objective?.state === "missed" || objective?.state === "impossible";

/** A burst of one process on several GPUs is counted on each. */
function burstsPerS(observers: readonly HighStatus[]): number {
  const rates = new Map<number, number>();
  for (const { pid, burstsPerS } of observers)
    rates.set(pid, Math.max(burstsPerS, rates.get(pid) ?? 0));
  return total([...rates.values()]);
}

const kernelUs = ({ longestKernelUs }: BestEffortStatus) => longestKernelUs;

/** Each rank counts each collective in which it takes part. */
function gangOf(clients: readonly BestEffortStatus[]): BestEffortStatus["gang"] {
  const gangs = clients.flatMap(({ gang }) => gang ?? []);
  if (gangs.length === 0) return undefined;
  const most = (name: keyof (typeof gangs)[number]) => Math.max(...gangs.map((one) => one[name]));
  return {
    ranks: most("ranks"),
    commits: most("commits"),
    timeouts: most("timeouts"),
    progress: most("progress"),
  };
}

/** A job is parked as soon as one of its clients is. */
function memoryOf(clients: readonly BestEffortStatus[]): MovableMemory | undefined {
  const all = clients.flatMap(({ memory }) => memory ?? []);
  const [first] = all.toSorted(
    (one, other) => Number(one.state === "open") - Number(other.state === "open"),
  );
  return (
    first && {
      ...first,
      bytes: total(all.map(({ bytes }) => bytes)),
      parkedBytes: total(all.map(({ parkedBytes }) => parkedBytes)),
      unmovableBytes: total(all.map(({ unmovableBytes }) => unmovableBytes)),
    }
  );
}

function gpusOf(members: readonly Member<BestEffortStatus>[]): readonly BestEffortStatus[][] {
  const found = new Map<string, BestEffortStatus[]>();
  for (const { gpu, client } of members) found.set(gpu, [...(found.get(gpu) ?? []), client]);
  return [...found.values()];
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

const knownTotal = (numbers: readonly (number | undefined)[]): number | undefined =>
  numbers.reduce((sum, one) => (sum === undefined || one === undefined ? undefined : sum + one), 0);
