import { gibibytes, micros, percent } from "#core";
import { requestKinds, statedIn } from "#policy";
import { caveats } from "#protocol";
import { type AsOne, type Job, type Jobs, spansGpus } from "../status/jobs.ts";
import { objectiveIn } from "../status/stated.ts";
import type { BestEffortStatus, GpuStatus, HighStatus, Status } from "../status/status.ts";
import { describeIdentity } from "../tenants/index.ts";
import type { UntrackedProcess } from "../untracked/index.ts";
import { describeHealth } from "./health.ts";
import { describeService, describeTraining, nameWithPids, severalIn } from "./job.ts";
import { describeMovable, describeSleep } from "./memory.ts";
import { problemOf } from "./problem.ts";

export function sentencesOn(gpu: GpuStatus, agent: Status["agent"]): readonly string[] {
  const { high, bestEffort, strangers } = gpu;
  const isElsewhere = (client: HighStatus | BestEffortStatus | Job) =>
    "size" in client && spansGpus(client);
  return [
    ...describeHealth(gpu),
    ...high.flatMap((client) => (isElsewhere(client) ? [] : describeObjective(client, gpu))),
    ...[...high, ...bestEffort].flatMap((client) =>
      isElsewhere(client) ? [] : sentencesOf(client, agent.scope),
    ),
    ...describeAdvice(gpu, agent),
    ...strangers.map(describeUntracked),
  ];
}

/** A job on several GPUs is described once, and not on each of them. */
export function sentencesAbout(job: Job, { gpus }: Jobs, agent: Status["agent"]) {
  const gpu = gpus.find(({ uuid }) => uuid === job.gpu);
  return [
    ...(isHigh(job) && gpu ? describeObjective(job, gpu) : []),
    ...sentencesOf(job, agent.scope),
  ];
}

export const sentencesOf = (
  client: HighStatus | BestEffortStatus | Job,
  scope: Status["agent"]["scope"],
): readonly string[] => [
  ...(isHigh(client)
    ? [
        ...describeService(client),
        ...describeSharing(client),
        ...describeSteps(client),
        ...describeReported(client),
        ...describeGaps(client),
        ...describeSleep(client),
      ]
    : [...describeTraining(client), ...describeMovable(client), ...describeTriton(client)]),
  ...describeCaveats(client),
  ...describeTenant(client, scope),
  ...(isHigh(client) ? describeDamage(client) : describeIgnored(client)),
];

/** The driver is asked, because nothing counts a high client's allocations. */
export const gpuMemoryText = ({ gpuMemory }: Pick<HighStatus, "gpuMemory">): string =>
  gpuMemory === undefined ? "unknown" : gibibytes(gpuMemory);

export function isHigh(client: Job): client is AsOne<HighStatus>;
export function isHigh(client: HighStatus | BestEffortStatus): client is HighStatus;
export function isHigh(client: HighStatus | BestEffortStatus): boolean {
  return client.class === "high";
}

/** Clients of a user's own agent all have the same owner. */
const describeTenant = (
  { name, pid, identity, grant }: HighStatus | BestEffortStatus,
  scope: Status["agent"]["scope"],
): string[] =>
  scope === "machine" && identity
    ? [`${name} (pid ${pid}): ${describeIdentity(identity)}, by the grant "${grant}"`]
    : [];

export const describeUntracked = ({
  pid,
  name,
  memory,
  agentPid,
  because,
  identity,
}: UntrackedProcess): string =>
  `untracked process: pid ${pid} ${name || "unknown"} (${[identity && describeIdentity(identity), memory !== undefined && gibibytes(memory)].filter(Boolean).join(", ")}) ${
    agentPid === undefined
      ? `holds no slot, so it is neither protected nor gated${because === undefined ? "" : `: ${because}`}`
      : `is a client of another agent (pid ${agentPid}), and the two agents do not coordinate: give both the same COTENANT_DIR`
  }`;

export const describeGpu = (gpu: GpuStatus): string =>
  [`${gpu.name || "GPU"} ${gpu.uuid}`, ...describeGpuFacts(gpu)].join(", ");

export const describeGpuFacts = ({ reading, health }: GpuStatus): readonly string[] =>
  [
    reading?.memoryUsed !== undefined &&
      reading.memoryTotal !== undefined &&
      `${gibibytes(reading.memoryUsed)} of ${gibibytes(reading.memoryTotal)} used`,
    reading?.utilisation !== undefined && `${percent(reading.utilisation)} busy`,
    reading?.smClockMHz !== undefined && `${reading.smClockMHz} MHz`,
    reading?.powerW !== undefined && `${reading.powerW.toFixed(0)} W`,
    health && health.state !== "init" && health.state,
    reading?.error !== undefined && unread(reading),
  ].filter((fact) => fact !== undefined && fact !== false);

/** Some figures may have been read all the same. */
const unread = ({
  error,
  memoryUsed,
  utilisation,
  smClockMHz,
  powerW,
}: NonNullable<GpuStatus["reading"]>): string =>
  [memoryUsed, utilisation, smClockMHz, powerW].some((figure) => figure !== undefined)
    ? `its other figures can't be read: the driver says "${error}"`
    : `not to be read: the driver says "${error}"`;

/** Processes keep their mode. An agent for all users has mode isolated alone. */
export function describeAdvice(
  { recommended }: GpuStatus,
  { mode: now, scope }: Pick<Status["agent"], "mode" | "scope">,
): readonly string[] {
  if (recommended === undefined) return [];
  const { mode, reason } = recommended;
  if (mode === now) return [`mode ${mode} suits these clients: ${reason}`];
  return scope === "machine"
    ? []
    : [`mode ${mode} would suit these clients better, at the next "cotenant up": ${reason}`];
}

const describeSharing = (client: HighStatus): string[] => {
  const { name, pid, sharedShare, starting } = client;
  if (starting)
    return [
      `${name} (pid ${pid}) is starting: best-effort work had the GPU for ${percent(sharedShare)} of its active time; protection begins with its first request`,
    ];
  return sharedShare > 0
    ? [
        `${name} (pid ${pid}) shares the GPU's time with best-effort work until one of its launches is seen to complete`,
      ]
    : [];
};

/** "steps of llm (pid 1): 52.0 a second of 5 bursts each, p50 18.20 ms, p99 19.00 ms, …" */
function describeSteps({ name, pid, steps }: HighStatus): string[] {
  if (!steps) return [];
  const { stepsPerS, burstsEach, gapShare, stepWaitP99Us, kinds } = steps;
  const [usual = steps, long] = kinds;
  const each = `of ${Number(burstsEach.toPrecision(2))} bursts each`;
  const figures = (of: typeof usual) => `p50 ${micros(of.stepP50Us)}, p99 ${micros(of.stepP99Us)}`;
  const others = long
    ? `; of another kind ${long.stepsPerS.toFixed(1)} a second, ${figures(long)}`
    : "";
  return [
    `steps of ${name} (pid ${pid}) in the last 4 s: ${(long ? usual.stepsPerS : stepsPerS).toFixed(1)} a second ${each}, ${figures(usual)}${others}; they wait for the GPU up to ${micros(stepWaitP99Us)} (p99), and ${percent(gapShare)} of their time is between bursts`,
  ];
}

/** Where an objective names requests, describeRequests() compares them with it. */
function describeReported({ name, pid, told, reporters, requests }: HighStatus): string[] {
  if (!told) return [];
  const { perS, open, failed, forgotten, times } = told;
  const figures = requests
    ? []
    : requestKinds.flatMap((kind) => {
        const { p50Us, p99Us } = times[kind] ?? {};
        return p50Us === undefined ? [] : [`${kind} p50 ${micros(p50Us)} p99 ${micros(p99Us)}`];
      });
  const counts = [
    `${perS.toFixed(1)} a second in the last 4 s`,
    `${open} open`,
    failed > 0 && `${failed} failed`,
    forgotten > 0 && `${forgotten} begun and never ended`,
  ].filter(Boolean);
  const by = reporters.length > 0 ? `, by process ${reporters.join(" and ")}` : "";
  return [`requests that ${name} (pid ${pid}) reports${by}: ${[...counts, ...figures].join(", ")}`];
}

const describeGaps = ({ name, pid, gaps }: HighStatus): string[] =>
  gaps
    ? [
        `${name} (pid ${pid}) is limited by its CPU and states no objective: best-effort work uses the gaps between its kernels (level ${gaps.level}) as long as its bursts wait hardly longer; "cotenant up --policy strict" turns that off`,
      ]
    : [];

function describeObjective(client: HighStatus, gpu: GpuStatus): string[] {
  const { name, pid, objective } = client;
  const wanted = objectiveText(client);
  if (wanted === undefined) return [];
  const found = objective
    ? `${stateInWords[objective.state]}, level ${objective.level}`
    : "this policy does not act on it";
  const problem = problemOf(client, gpu);
  return [
    `objective of ${name} (pid ${pid}): ${wanted}, ${found}`,
    ...describeRequests(client),
    ...describeSlowEndpoint(client),
    ...describeStepless(client),
    ...(problem ? [`${problem.cause}: ${problem.remedy}`] : []),
  ];
}

/** "ttft 200 ms p99", "tpot 8 ms mean" */
export const requestGoals = (client: HighStatus): readonly string[] =>
  statedIn(objectiveIn(client).requests ?? {}).map(
    ({ kind, quantile, limitUs }) => `${kind} ${micros(limitUs)} ${quantile}`,
  );

function describeRequests({ name, pid, requests, objective }: HighStatus): string[] {
  if (!requests || requests.unheard !== undefined || requests.kinds.length === 0) return [];
  const told = requests.kinds.map((one) => {
    const { kind, quantile, meanUs, statedUs, limitUs, judgedAtUs } = one;
    if (quantile === "mean") return `${kind} mean ${micros(meanUs)}`;
    const mean = meanUs === undefined ? "" : `mean ${micros(meanUs)}, `;
    const stated = statedUs === undefined ? "beyond its last bound" : `at most ${micros(statedUs)}`;
    const judged =
      judgedAtUs < limitUs * 0.999
        ? `, judged at ${micros(judgedAtUs)}, the next bound of its histogram below ${micros(limitUs)}`
        : "";
    return `${kind} ${mean}${quantile} ${stated}${judged}`;
  });
  const span = requests.url === "" ? "4 s" : "second";
  return [
    `requests of ${name} (pid ${pid}) in the last ${span}: ${told.join(", ")}${leastRoom(requests.kinds.length, objective)}`,
  ];
}

const describeSlowEndpoint = ({ name, pid, requests }: HighStatus): string[] =>
  requests?.slow
    ? [
        `the endpoint of ${name} (pid ${pid}) takes ${micros(1000 * requests.slow.answerMs)} to answer, so it is read every ${(requests.slow.everyMs / 1000).toFixed(1)} s only, and a violation is noticed that much later`,
      ]
    : [];

const describeStepless = ({ name, pid, requests, objective }: HighStatus): string[] =>
  objective?.stepless && requests && requests.unheard === undefined && requests.kinds.length > 0
    ? [
        `no step of ${name} (pid ${pid}) was recognised, so no best-effort work runs during its requests: "cotenant up --policy slo" needs no steps`,
      ]
    : [];

function leastRoom(kinds: number, objective: HighStatus["objective"]): string {
  const { tightest, mostStretch } = objective ?? {};
  if (tightest === undefined) return "";
  const least = kinds > 1 ? `; ${tightest} has the least headroom` : "";
  if (mostStretch === undefined) return least;
  const room =
    mostStretch > 1
      ? `steps may take ${mostStretch.toFixed(2)} times as long as solo`
      : "it has no headroom";
  return `${least || `; ${tightest}`}: ${room}`;
}

export function objectiveText(client: HighStatus): string | undefined {
  const { sloP99Us, sloSlowdown } = client;
  const wanted = [
    sloP99Us !== undefined && `${micros(sloP99Us)} p99`,
    sloSlowdown !== undefined && `slowdown ${percent(sloSlowdown)}`,
    ...requestGoals(client),
  ].filter(Boolean);
  return wanted.length > 0 ? wanted.join(" and ") : undefined;
}

function describeCaveats(client: HighStatus | BestEffortStatus | Job): string[] {
  const without = client.class === "high" ? "protected" : "held back";
  const said = [
    client.caveats & caveats.ranks &&
      !severalIn(client) &&
      "is one rank of several: each is protected on its own GPU alone",
    client.caveats & caveats.gpus &&
      "uses several GPUs: while it is active on one, best-effort work waits on all of them",
    client.caveats & caveats.pastUs &&
      `has loaded a library past Cotenant: the work of that library is not ${without}`,
    client.caveats & caveats.tooMany &&
      `uses more contexts or streams at once than Cotenant follows: work beyond that is not ${without}`,
    client.unhooked > 0 &&
      `has made ${client.unhooked} calls that Cotenant does not know: their work is not ${without}`,
  ];
  return said.flatMap((what) => (what ? [`${nameWithPids(client)} ${what}`] : []));
}

const describeTriton = ({ name, pid, triton }: BestEffortStatus): string[] =>
  triton
    ? [
        triton.past.length === 0
          ? `${name} (pid ${pid}): kernels that its Triton compiles can stop inside`
          : `${name} (pid ${pid}): its Triton compiles kernels that can't stop inside, because ${triton.past.join(" and ")} ${triton.past.length === 1 ? "names" : "name"} no stand-in of Cotenant: start it by "cotenant run", and leave ${triton.past.length === 1 ? "it" : "them"} alone`,
      ]
    : [];

const describeIgnored = ({ name, pid, hold }: BestEffortStatus): string[] =>
  hold && hold.ignored > 0
    ? [
        `${name} (pid ${pid}) does not pause: its kernels ran on in ${hold.ignored} of ${hold.trials} compliance checks; they now run in ${percent(hold.usedShare)} of the time, of which ${percent(1 - hold.openShare)} belong to requests`,
      ]
    : [];

const describeDamage = ({ name, pid, implausible }: HighStatus): string[] =>
  implausible === 0
    ? []
    : [
        `${name} (pid ${pid}): implausible counters in ${implausible} ${implausible === 1 ? "sample" : "samples"}; the program probably overwrites shared memory`,
      ];

export const stateInWords = {
  learning: "learning",
  met: "met",
  missed: "missed",
  impossible: "not met even solo",
  unheard: "not judged: its request times are not reported",
} as const;
