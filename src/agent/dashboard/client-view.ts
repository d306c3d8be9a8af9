// One client as the dashboard's page shows it: the figures of `status`, in words.
import { gibibytes, micros, percent } from "#core";
import type { ClientView, EventView, Figure, Standing } from "#dashboard";
import type { BestEffortStatus, GpuStatus, HighStatus, Status } from "../status.ts";
import { describeIdentity, describeOrigin } from "../tenants/index.ts";
import { goalsOf, isMissed, serviceClause } from "../words/gpu-sentence.ts";
import { problemOf } from "../words/problem.ts";
import { isHigh, objectiveText, sentencesOf, stateInWords } from "../words/sentences.ts";

export function clientView(
  client: HighStatus | BestEffortStatus,
  gpu: GpuStatus,
  scope: Status["agent"]["scope"],
  lastEvent: EventView | undefined,
): ClientView {
  const { class: kind, name, pid, slot, command, identity, connected } = client;
  return {
    id: `${kind} ${slot} ${pid}`,
    name,
    class: kind,
    pid,
    command,
    owner: identity ? describeIdentity(identity) : "not known",
    uid: identity?.uid,
    place: identity ? describeOrigin(identity) : "",
    standing: isHigh(client) ? standingOf(client) : "met",
    badge: isHigh(client) ? badgeOf(client) : "",
    says: isHigh(client) ? serviceClause(client) : "",
    problem: isHigh(client) ? problemOf(client, gpu) : undefined,
    figures: isHigh(client) ? highFigures(client) : bestEffortFigures(client),
    notes: [
      ...(connected ? [] : ["It has not come back since the agent was restarted."]),
      ...sentencesOf(client, scope),
    ],
    lastEvent,
  };
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
  label: string,
  amount: number | undefined,
  show: (amount: number) => string,
  title: string,
): Figure => ({ label, amount, value: amount === undefined ? "-" : show(amount), title });

const highFigures = (client: HighStatus): readonly Figure[] => [
  figure("p99 now", client.burstP99Us, micros, "99th percentile of the bursts of the last 4 s"),
  figure(
    "p99 alone",
    client.alone?.p99Us,
    micros,
    "99th percentile of the bursts while no best-effort work ran, as the policy has seen it",
  ),
  figure(
    "slower by",
    client.slowdown,
    percent,
    "how much longer than alone bursts wait for the GPU (p99), as a part of the p99 alone",
  ),
  {
    label: "objective",
    value: goalsOf(client).join(", ") || "none",
    amount: client.sloSlowdown ?? client.sloP99Us,
    title: "what run --slo or the grant asks for",
  },
  figure("p50 now", client.burstP50Us, micros, "median burst of the last 4 s"),
  figure(
    "waited",
    client.burstWaitP99Us,
    micros,
    "99th percentile of the time that bursts waited for the GPU",
  ),
  figure("bursts", client.burstsPerS, perSecond, "requests as the GPU sees them"),
  figure("active", client.activeShare, percent, "part of the last 4 s in which a burst ran"),
];

const perSecond = (rate: number) => `${rate.toFixed(1)} /s`;

const bestEffortFigures = (client: BestEffortStatus): readonly Figure[] => [
  figure(
    "keeps",
    client.keptShare,
    percent,
    "part of the last 4 s in which its work waited neither for services nor for another's turn",
  ),
  figure("runs", client.gpuShare, percent, "GPU time finished, as a part of the last 4 s"),
  figure(
    "held",
    client.heldShare,
    percent,
    "part of the last 4 s in which its work waited for services",
  ),
  figure("turn", client.turnShare, percent, "part in which its work waited for another's turn"),
  figure("ahead", client.aheadUs, micros, "launch-ahead: GPU time released and not finished"),
  figure("longest kernel", client.longestKernelUs, micros, "since it attached"),
  figure(
    "memory",
    client.memoryUsed,
    (used) =>
      client.memoryQuota > 0
        ? `${gibibytes(used)} of ${gibibytes(client.memoryQuota)}`
        : gibibytes(used),
    "GPU memory that it has allocated, and its quota",
  ),
];
