// All figures come from one status, so that they agree with `status --json` at the same moment.
import { gibibytes, micros, type Nanos, percent, type WallMillis } from "#core";
import type {
  ClientView,
  EventView,
  GpuView,
  Snapshot,
  Standing,
  StrangerView,
  TimelineView,
  WorstView,
} from "#dashboard";
import type { ServedGpu } from "../gpus/gpu.ts";
import type { History, Resolution, Stretch } from "../history/history.ts";
import type { Burst } from "../history/worst-bursts.ts";
import type { LogEntry } from "../log/log.ts";
import {
  type GpuOfJobs,
  type Job,
  type Jobs,
  jobsOf,
  pidsIn,
  sizeText,
  spansGpus,
} from "../status/jobs.ts";
import type { HighStatus, Status } from "../status/status.ts";
import { type Member, observersIn } from "../status/whole.ts";
import type { UntrackedProcess } from "../untracked/index.ts";
import { causeOf } from "../words/burst-cause.ts";
import { gpuSentence } from "../words/gpu-sentence.ts";
import { describeHealth } from "../words/health.ts";
import { rankText } from "../words/job.ts";
import { describeAdvice, describeGpuFacts, describeUntracked, isHigh } from "../words/sentences.ts";
import { clientView, fares, standingOf, viewId } from "./client-view.ts";

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
const WORST_SHOWN = 10;
/** In seconds: a page that misses a few snapshots misses nothing. */
const LATEST = 10;

export function snapshotView(known: DashboardSource): Snapshot {
  const { status, wall, events } = known;
  const jobs = jobsOf(status.gpus);
  const context = { known, jobs, last: lastByPid(events) };
  const { pid, mode, policy, cpuShare, residentBytes, port } = status.agent;
  return {
    at: wall,
    pid,
    agent: `Agent ${pid}: mode ${mode}, policy ${policy}, port ${port}, ${percent(cpuShare)} CPU, ${gibibytes(residentBytes)}`,
    launched: status.launched.map(
      ({ name, pid, class: kind }) => `${name} (pid ${pid}, ${kind}): launched, no CUDA yet`,
    ),
    jobs: jobs.all.filter(spansGpus).flatMap((job) => jobView(job, context)),
    gpus: jobs.gpus.map((gpu) => gpuView(gpu, context)),
    events: events.slice(-EVENTS_SHOWN).map(eventView),
  };
}

interface Context {
  readonly known: DashboardSource;
  readonly jobs: Jobs;
  /** By pid. */
  readonly last: ReadonlyMap<unknown, LogEntry>;
}

function jobView(job: Job, { known, jobs, last }: Context): ClientView[] {
  const gpu = jobs.gpus.find(({ uuid }) => uuid === job.gpu);
  const { scope } = known.status.agent;
  return gpu ? [clientView(job, gpu, scope, lastEventOf(job, last))] : [];
}

/** The newest one of its processes. */
function lastEventOf(job: Job, last: Context["last"]): EventView | undefined {
  const entries = pidsIn(job).flatMap((pid) => last.get(pid) ?? []);
  const [newest] = entries.toSorted((one, other) => (one.time < other.time ? 1 : -1));
  return newest && eventView(newest);
}

function gpuView(gpu: GpuOfJobs, { known, last }: Context): GpuView {
  const { status, history, now } = known;
  const { mode, scope } = status.agent;
  const clients = [...gpu.high, ...gpu.bestEffort];
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
    clients: clients
      .filter((client) => !spansGpus(client))
      .map((client) => clientView(client, gpu, scope, lastEventOf(client, last))),
    parts: clients.filter(spansGpus).map(partText),
    strangers: gpu.strangers.map(strangerView),
    latest: latest && seriesOf(latest, "second", known),
    recovered: { text: `${hours.toFixed(hours < 1 ? 3 : 2)} GPU-hours`, since },
  };
}

/** "train, best-effort: rank 1 (pid 43) of 2 ranks on 2 GPUs, retains 62 %, …" */
const partText = (part: Job): string =>
  `${part.name}, ${part.class}: ${part.members.map(({ client }) => rankText(client)).join(", ")} of ${sizeText(part)}, ${fares(part)}`;

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
  const worstOn = ({ gpu: uuid, client: { slot } }: Member<HighStatus>) => {
    const gpu = status.gpus.find((one) => one.uuid === uuid);
    const client = served.find((one) => one.uuid === uuid)?.at("high", slot);
    return gpu && client ? history.worst(client, now).map((burst) => ({ burst, gpu })) : [];
  };
  return jobsOf(status.gpus).all.flatMap((job) => {
    const bursts = (isHigh(job) ? observersIn(job.members) : [])
      .flatMap(worstOn)
      .sort((one, other) => other.burst.lastedUs - one.burst.lastedUs)
      .slice(0, WORST_SHOWN);
    if (bursts.length === 0) return [];
    return [
      {
        uuid: job.gpu,
        client: viewId(job),
        name: job.name,
        bursts: bursts.map(({ burst, gpu }) => ({
          at: wallOf(burst.at, known),
          ...burstTexts(burst),
          ...causeOf(burst, gpu),
        })),
      },
    ];
  });
}

const burstTexts = ({ lastedUs, waitedUs, step }: Burst) => ({
  lasted: `${micros(lastedUs)}${step ? " (step)" : ""}`,
  waited: micros(waitedUs),
});

const wallOf = (seconds: number, { now, wall }: DashboardSource): number =>
  Math.round(wall + seconds * 1000 - now / 1e6);
const clockOf = (time: number, { now, wall }: DashboardSource): number =>
  (time - wall) / 1000 + now / 1e9;

const midnight = ({ wall }: DashboardSource): number => new Date(wall).setHours(0, 0, 0, 0);
