import {
  type AsOne,
  type BestEffortStatus,
  describeGpu,
  type GpuOfJobs,
  gpuMemoryText,
  type HighStatus,
  type Job,
  type Jobs,
  jobsOf,
  type Launch,
  pidText,
  ranksText,
  type Status,
  sentencesAbout,
  sentencesOn,
  sizeText,
  spansGpus,
  unitFigures,
} from "#agent";
import { askStatus, ownAgentHere } from "#client";
import { displayWidth, gibibytes, micros, percent, table, truncate, wrap } from "#core";
import { command, json } from "../program/command.ts";

export const statusCommand = command({
  name: "status",
  summary: "who is on the GPUs and how they fare",
  options: { json },
  terms: [
    ["a second, p50, p99", "high: bursts that ended in the last 4 s, and their length"],
    ["waited", "high: p99 of the time that bursts waited for the GPU; slowdown= is about it"],
    ["active", "high: time in which a burst ran; best-effort: GPU time used"],
    ["ahead", "best-effort work that a burst found unfinished; best-effort: its own, now"],
    ["held", "best-effort: time in which its work waited for a high client"],
    ["turn", "best-effort: time in which its work waited for another best-effort client"],
    ["memory", "GPU memory; best-effort: allocated, of its quota"],
    ["pid", "42 +3: three more processes of the same job are on this GPU"],
    [
      "size",
      "of a job on several GPUs: its processes; its figures are the slowest's, or those of the process that observes a service's outputs",
    ],
    ["level", "how far a policy with objectives has climbed; 0: as under strict"],
    ["untracked process", "a process on the GPU that is neither protected nor held back"],
  ],
  async run(args) {
    const status = await askStatus(ownAgentHere().agent);
    console.log(
      args.json ? JSON.stringify(status, null, 2) : describe(status, process.stdout.columns),
    );
    return 0;
  },
});

export function describe(status: Status, columns = Number.POSITIVE_INFINITY): string {
  const { pid, mode, policy, cpuShare, residentBytes, upSeconds } = status.agent;
  const jobs = jobsOf(status.gpus);
  const up = upSeconds < 120 ? `${upSeconds.toFixed(0)} s` : `${(upSeconds / 60).toFixed(0)} min`;
  return [
    ...wrap(
      `Agent ${pid}, up ${up}: mode ${mode}, policy ${policy}, ${percent(cpuShare)} CPU, ${gibibytes(residentBytes)}`,
      columns,
    ),
    ...status.launched.map(describeLaunch),
    ...describeSpanning(jobs, status.agent, columns),
    ...jobs.gpus.flatMap((gpu) => ["", ...describeClients(gpu, status.agent, columns)]),
    ...(status.gpus.length === 0 ? ["", "No client has come yet."] : []),
  ].join("\n");
}

const describeLaunch = ({ name, pid, class: kind }: Launch): string =>
  `${name} (pid ${pid}, ${kind}): launched, no CUDA yet`;

const INDENT = "  ";

/** Their ranks are in the tables of the GPUs. */
function describeSpanning(jobs: Jobs, agent: Status["agent"], columns: number): string[] {
  const spanning = jobs.all.filter(spansGpus);
  const within = columns - INDENT.length;
  const [services, trainings] = [spanning.filter(isService), spanning.filter(isTraining)];
  const rows = [
    ...fitRows([sized(highHeader), ...services.map((job) => highRow(job, "whole"))], within),
    ...fitRows(
      [sized(bestEffortHeader), ...trainings.map((job) => bestEffortRow(job, "whole"))],
      within,
    ),
  ];
  const sentences = spanning.flatMap((job) =>
    sentencesAbout(job, jobs, agent).flatMap((sentence) => wrap(sentence, within)),
  );
  const lines = [...rows, ...sentences].map((line) => `${INDENT}${line}`);
  return lines.length > 0 ? ["", "Jobs on several GPUs", ...lines] : [];
}

const isService = (job: Job): job is AsOne<HighStatus> => job.class === "high";
const isTraining = (job: Job): job is AsOne<BestEffortStatus> => job.class === "best-effort";

const sized = ([kind, _, ...rest]: readonly [string, string, ...string[]]) =>
  [kind, "size", ...rest] as const;

function describeClients(gpu: GpuOfJobs, agent: Status["agent"], columns: number): string[] {
  const { high, bestEffort } = gpu;
  const within = columns - INDENT.length;
  const clients = [
    ...fitRows([highHeader, ...high.map((client) => highRow(client, "part"))], within),
    ...fitRows(
      [bestEffortHeader, ...bestEffort.map((client) => bestEffortRow(client, "part"))],
      within,
    ),
  ];
  const sentences = sentencesOn(gpu, agent).flatMap((sentence) => wrap(sentence, within));
  return [
    ...wrap(describeGpu(gpu), columns),
    ...[...(clients.length > 0 ? clients : ["no client"]), ...sentences].map(
      (line) => `${INDENT}${line}`,
    ),
  ];
}

/** Where the table is too wide, names are cut. */
function fitRows(rows: readonly (readonly [string, ...string[]])[], columns: number): string[] {
  if (rows.length === 1) return [];
  const lines = table(rows, 1);
  const excess = Math.max(...lines.map(displayWidth)) - columns;
  if (excess <= 0) return lines;
  const longest = Math.max(...rows.map(([name]) => displayWidth(name)));
  const room = Math.max(longest - excess, rows[0]?.[0].length ?? 0);
  return table(
    rows.map(([name, ...rest]) => [truncate(name, room), ...rest]),
    1,
  );
}

const highHeader = [
  "high",
  "pid",
  "a second",
  "p50",
  "p99",
  "waited",
  "active",
  "ahead",
  "memory",
] as const;

/** A job on several GPUs, or the part of a job that is on one of them. */
type Shown = "whole" | "part";

const sizeOrPids = (job: Job, shown: Shown): string =>
  shown === "whole" ? sizeText(job) : pidText(job);

function highRow(client: AsOne<HighStatus>, shown: Shown) {
  const { perS = 0, p50Us, p99Us, waitP99Us } = unitFigures(client);
  return [
    shownName(client, shown),
    sizeOrPids(client, shown),
    `${perS.toFixed(1)} ${client.unit}s`,
    micros(p50Us),
    micros(p99Us),
    micros(waitP99Us),
    percent(client.activeShare),
    micros(client.aheadMeanUs),
    gpuMemoryText(client),
  ] as const;
}

const bestEffortHeader = [
  "best-effort",
  "pid",
  "active",
  "ahead",
  "held",
  "turn",
  "memory",
] as const;

const bestEffortRow = (client: AsOne<BestEffortStatus>, shown: Shown) =>
  [
    shownName(client, shown),
    sizeOrPids(client, shown),
    percent(client.gpuShare),
    micros(client.aheadUs),
    percent(client.heldShare),
    percent(client.turnShare),
    client.memoryQuota > 0
      ? `${gibibytes(client.memoryUsed)} of ${gibibytes(client.memoryQuota)}`
      : gibibytes(client.memoryUsed),
  ] as const;

/** A detached client has not come back since the agent was restarted. */
function shownName(client: Job, shown: Shown): string {
  const { name, connected } = client;
  return `${connected ? "" : "detached: "}${name}${shown === "part" ? partText(client) : ""}`;
}

/** A rank of a job on several GPUs is no job: "train (rank 1)". */
const partText = (client: Job): string =>
  spansGpus(client) ? ` (${ranksText(client) || "part"})` : "";
