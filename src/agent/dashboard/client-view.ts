import { gibibytes, kept, micros, percent } from "#core";
import type { ClientView, EventView, Figure, FigureLabel, ProcessView, Standing } from "#dashboard";
import { type Job, pidsIn, sizeText } from "../status/jobs.ts";
import type { BestEffortStatus, GpuStatus, HighStatus, Status } from "../status/status.ts";
import { describeIdentity, describeOrigin } from "../tenants/index.ts";
import { goalsOf, isMissed, serviceClause } from "../words/gpu-sentence.ts";
import { rankText } from "../words/job.ts";
import { problemOf } from "../words/problem.ts";
import {
  gpuMemoryText,
  isHigh,
  objectiveText,
  sentencesOf,
  stateInWords,
} from "../words/sentences.ts";
import { unitFigures } from "../words/unit-figures.ts";

const made = new WeakMap<Job, ClientView>();

/** `gpu`: the one of the client that stands for a job. */
export function clientView(
  client: Job,
  gpu: GpuStatus,
  scope: Status["agent"]["scope"],
  lastEvent: EventView | undefined,
): ClientView {
  const before = made.get(client);
  const problem = kept(before?.problem, isHigh(client) ? problemOf(client, gpu) : undefined);
  const same = before && before.problem === problem && before.lastEvent === lastEvent;
  const view = same ? before : { ...viewOf(client, scope), problem, lastEvent };
  made.set(client, view);
  return view;
}

/** The process that stands for a job may become another one. */
export const viewId = (client: Job): string =>
  pidsIn(client).length > 1 ? `job ${client.job}` : `${client.class} ${client.slot} ${client.pid}`;

function viewOf(client: Job, scope: Status["agent"]["scope"]) {
  const { class: kind, name, pid, command, identity, connected, members } = client;
  return {
    id: viewId(client),
    name,
    class: kind,
    pid,
    size: sizeText(client),
    processes: members.length > 1 ? members.map(processView) : [],
    command,
    owner: identity ? describeIdentity(identity) : "not known",
    uid: identity?.uid,
    user: identity?.user,
    place: identity ? describeOrigin(identity) : "",
    standing: isHigh(client) ? standingOf(client) : ("met" as const),
    badge: isHigh(client) ? badgeOf(client) : "",
    says: isHigh(client) ? serviceClause(client) : "",
    figures: isHigh(client) ? highFigures(client) : bestEffortFigures(client),
    notes: [
      ...(connected ? [] : ["It has not come back since the agent was restarted."]),
      ...sentencesOf(client, scope),
    ],
  };
}

const processView = ({ gpu, client }: Job["members"][number]): ProcessView => ({
  gpu,
  pid: client.pid,
  text: `${rankText(client)} ${fares(client)}`,
});

/** "retains 62 %, held 10 %", "active 5.0 %, p99 4.00 ms" */
export function fares(client: HighStatus | BestEffortStatus): string {
  if (!isHigh(client))
    return `retains ${client.keptShare === undefined ? "-" : percent(client.keptShare)}, held ${percent(client.heldShare)}`;
  return `active ${percent(client.activeShare)}, p99 ${micros(unitFigures(client).p99Us)}`;
}

function badgeOf(client: HighStatus): string {
  if (objectiveText(client) === undefined) return "no objective";
  return client.objective ? `objective: ${stateInWords[client.objective.state]}` : "not acted on";
}

export function standingOf(client: HighStatus): Standing {
  if (isMissed(client)) return "missed";
  if (objectiveText(client) === undefined) return client.slowdown === undefined ? "unknown" : "met";
  return client.objective?.state === "met" ? "met" : "unknown";
}

const figure = (
  label: FigureLabel,
  amount: number | undefined,
  show: (amount: number) => string,
): Figure => ({ label, amount, value: amount === undefined ? "-" : show(amount) });

const highFigures = (client: HighStatus): readonly Figure[] => [
  figure("p99 now", unitFigures(client).p99Us, micros),
  figure("p99 alone", client.alone?.p99Us, micros),
  figure("slower by", client.slowdown, percent),
  {
    label: "objective",
    value: goalsOf(client).join(", ") || "none",
    amount: client.sloSlowdown ?? client.sloP99Us,
  },
  figure("p50 now", unitFigures(client).p50Us, micros),
  figure("waited", unitFigures(client).waitP99Us, micros),
  figure("bursts", client.burstsPerS, perSecond),
  figure("steps", client.steps?.stepsPerS, perSecond),
  figure("active", client.activeShare, percent),
  { label: "memory", value: gpuMemoryText(client), amount: client.gpuMemory },
];

const perSecond = (rate: number) => `${rate.toFixed(1)} /s`;

const bestEffortFigures = (client: BestEffortStatus): readonly Figure[] => [
  figure("keeps", client.keptShare, percent),
  figure("runs", client.gpuShare, percent),
  figure("held", client.heldShare, percent),
  figure("turn", client.turnShare, percent),
  figure("ahead", client.aheadUs, micros),
  figure("longest kernel", client.longestKernelUs, micros),
  figure("memory", client.memoryUsed, (used) =>
    client.memoryQuota > 0
      ? `${gibibytes(used)} of ${gibibytes(client.memoryQuota)}`
      : gibibytes(used),
  ),
];
