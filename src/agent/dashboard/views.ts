// All figures come from one status, so that they agree with `status --json` at the same moment.
import { gibibytes, micros, type Nanos, percent, type WallMillis } from "#core";
import type {
  EventView,
  GpuView,
  Snapshot,
  Standing,
  StrangerView,
  TimelineView,
  WorstView,
} from "#dashboard";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { History, Resolution, Stretch } from "../history/history.ts";
import type { Burst } from "../history/worst-bursts.ts";
import type { LogEntry } from "../log/log.ts";
import type { GpuStatus, Status } from "../status/status.ts";
import type { UntrackedProcess } from "../untracked/index.ts";
import { causeOf } from "../words/burst-cause.ts";
import { gpuSentence } from "../words/gpu-sentence.ts";
import { describeHealth } from "../words/health.ts";
import { describeAdvice, describeGpuFacts, describeUntracked } from "../words/sentences.ts";
import { clientView, standingOf } from "./client-view.ts";

export interface DashboardSource {
  readonly status: Status;
  readonly served: readonly ServedGpu[];
  readonly history: History;
  readonly events: readonly LogEntry[];
  /** Monotonic ns, and ms since 1970 at the same moment. */
  readonly now: Nanos;
  readonly wall: WallMillis;
}

const EVENTS_SHOWN = 50;
/** In seconds: a page that misses a few snapshots misses nothing. */
const LATEST = 10;

export function snapshotView(known: DashboardSource): Snapshot {
  const { status, wall, events } = known;
  const last = lastByPid(events);
  const { pid, mode, policy, cpuShare, residentBytes, port } = status.agent;
  return {
    at: wall,
    pid,
    agent: `Agent ${pid}: mode ${mode}, policy ${policy}, port ${port}, ${percent(cpuShare)} CPU, ${gibibytes(residentBytes)}`,
    launched: status.launched.map(
      ({ name, pid, class: kind }) => `${name} (pid ${pid}, ${kind}): launched, no CUDA yet`,
    ),
    gpus: status.gpus.map((gpu) => gpuView(gpu, known, last)),
    events: events.slice(-EVENTS_SHOWN).map(eventView),
  };
}

function gpuView(
  gpu: GpuStatus,
  known: DashboardSource,
  last: ReadonlyMap<unknown, LogEntry>,
): GpuView {
  const lastEventOf = (pid: number) => {
    const entry = last.get(pid);
    return entry && eventView(entry);
  };
  const { status, history, now } = known;
  const { mode, scope } = status.agent;
  const latest = history.stretch(gpu.uuid, "second", now, LATEST);
  const since = Math.max(midnight(known), wallOf(history.startedAt, known));
  const hours = history.recovered(gpu.uuid, clockOf(since, known)) / 3600;
  return {
    uuid: gpu.uuid,
    name: gpu.name || "GPU",
    facts: describeGpuFacts(gpu).join(", "),
    sentence: gpuSentence(gpu),
    standing: worstOf(gpu.high.map(standingOf)),
    advice: [...describeHealth(gpu), ...describeAdvice(gpu, { mode, scope })],
    clients: [...gpu.high, ...gpu.bestEffort].map((client) =>
      clientView(client, gpu, scope, lastEventOf(client.pid)),
    ),
    strangers: gpu.strangers.map(strangerView),
    latest: latest && seriesOf(latest, "second", known),
    recovered: { text: `${hours.toFixed(hours < 1 ? 3 : 2)} GPU-hours`, since },
  };
}

const worstOf = (standings: readonly Standing[]): Standing =>
  (["missed", "unknown"] as const).find((one) => standings.includes(one)) ?? "met";

const strangerView = (stranger: UntrackedProcess): StrangerView => ({
  text: describeUntracked(stranger),
  adopt:
    stranger.agentPid === undefined
      ? `cotenant run --class best-effort -- ${stranger.command ?? "COMMAND"}`
      : "",
});

const eventViews = new WeakMap<LogEntry, EventView>();

/** An entry keeps its view's identity, which the live stream compares. */
function eventView(entry: LogEntry): EventView {
  const known = eventViews.get(entry);
  if (known) return known;
  const { time, event, facts } = entry;
  const words = Object.entries(facts).map(([key, value]) => `${key} ${value}`);
  const view = { time, event, facts: words.join(", ") };
  eventViews.set(entry, view);
  return view;
}

const lastByPid = (events: readonly LogEntry[]): ReadonlyMap<unknown, LogEntry> =>
  new Map(events.map((entry) => [entry.facts.pid, entry]));

export function timelineViews(known: DashboardSource): readonly TimelineView[] {
  const { status, history, now } = known;
  return status.gpus.flatMap(({ uuid }) => {
    const second = history.stretch(uuid, "second", now);
    const minute = history.stretch(uuid, "minute", now);
    if (!second || !minute) return [];
    return [
      {
        uuid,
        second: seriesOf(second, "second", known),
        minute: seriesOf(minute, "minute", known),
      },
    ];
  });
}

const periods = { second: 1, minute: 60 } as const;

function seriesOf({ first, means }: Stretch, resolution: Resolution, known: DashboardSource) {
  const rounded = (values: readonly (number | null)[]) =>
    values.map((value) => value && Math.round(1000 * value) / 1000);
  return {
    first,
    from: wallOf(first * periods[resolution], known),
    period: 1000 * periods[resolution],
    service: rounded(means.service),
    bestEffort: rounded(means.bestEffort),
    held: rounded(means.held),
  };
}

export function worstViews(known: DashboardSource): readonly WorstView[] {
  const { status, served, history, now } = known;
  return status.gpus.flatMap((gpu) =>
    highClientsOf(gpu.uuid, served).flatMap((client) => {
      const bursts = history.worst(client, now);
      if (bursts.length === 0) return [];
      return [
        {
          uuid: gpu.uuid,
          client: `${client.class} ${client.slot} ${client.pid}`,
          name: client.name,
          bursts: bursts.map((burst) => ({
            at: wallOf(burst.at, known),
            ...burstTexts(burst),
            ...causeOf(burst, gpu),
          })),
        },
      ];
    }),
  );
}

const highClientsOf = (uuid: string, served: readonly ServedGpu[]): readonly Client[] =>
  (served.find((gpu) => gpu.uuid === uuid)?.clients ?? []).filter(
    ({ class: kind }) => kind === "high",
  );

const burstTexts = ({ lastedUs, waitedUs, step }: Burst) => ({
  lasted: `${micros(lastedUs)}${step ? " (step)" : ""}`,
  waited: micros(waitedUs),
});

const wallOf = (seconds: number, { now, wall }: DashboardSource): number =>
  Math.round(wall + seconds * 1000 - now / 1e6);
const clockOf = (time: number, { now, wall }: DashboardSource): number =>
  (time - wall) / 1000 + now / 1e9;

const midnight = ({ wall }: DashboardSource): number => new Date(wall).setHours(0, 0, 0, 0);
