import type { BestEffortStatus, GpuStatus, HighStatus, Status } from "#agent";
import { agentHere, askStatus } from "./client.ts";
import { command, json } from "./command.ts";
import { gibibytes, micros, percent, table } from "./print.ts";

export const statusCommand = command({
  name: "status",
  summary: "who is on the GPUs and how they fare",
  options: { json },
  async run(args) {
    const status = await askStatus(agentHere());
    console.log(args.json ? JSON.stringify(status, null, 2) : describe(status));
    return 0;
  },
});

/** The whole status, for people. */
export function describe(status: Status): string {
  const { pid, mode, policy, cpuShare, residentBytes, upSeconds } = status.agent;
  const up = upSeconds < 120 ? `${upSeconds.toFixed(0)} s` : `${(upSeconds / 60).toFixed(0)} min`;
  return [
    `Agent ${pid}, up ${up}: mode ${mode}, policy ${policy}, ${percent(cpuShare)} CPU, ${gibibytes(residentBytes)}`,
    ...status.gpus.flatMap((gpu) => ["", ...describeClients(gpu, mode)]),
    ...(status.gpus.length === 0 ? ["", "No client has come yet."] : []),
  ].join("\n");
}

/** One line about a GPU itself. */
export function describeGpu({ name, uuid, reading }: GpuStatus): string {
  const facts = [
    reading && `${gibibytes(reading.memoryUsed)} of ${gibibytes(reading.memoryTotal)} used`,
    reading?.utilisation !== undefined && `${percent(reading.utilisation)} busy`,
    reading?.smClockMHz !== undefined && `${reading.smClockMHz} MHz`,
    reading?.powerW !== undefined && `${reading.powerW.toFixed(0)} W`,
  ].filter(Boolean);
  return [`${name || "GPU"} ${uuid}`, ...facts].join(", ");
}

function describeClients(gpu: GpuStatus, mode: Status["agent"]["mode"]): string[] {
  const { high, bestEffort, strangers, recommended } = gpu;
  const clients =
    high.length + bestEffort.length > 0
      ? table(
          [
            [
              "class",
              "name",
              "pid",
              "bursts/s",
              "p50",
              "p99",
              "active",
              "ahead",
              "held",
              "turn",
              "memory",
            ],
            ...high.map(highRow),
            ...bestEffort.map(bestEffortRow),
          ],
          2,
        )
      : ["no client"];
  const objectives = high.flatMap(describeObjective);
  const advice = recommended ? [describeAdvice(recommended, mode)] : [];
  const rest = strangers.map(
    ({ pid, name, memory }) =>
      `stranger: pid ${pid} ${name || "unknown"} (${gibibytes(memory)}) holds no slot, so it is neither protected nor gated`,
  );
  return [
    describeGpu(gpu),
    ...[...clients, ...objectives, ...advice, ...rest].map((line) => `  ${line}`),
  ];
}

/** The mode is fixed when processes start, so what would be better is for the next time. */
const describeAdvice = (
  { mode, reason }: NonNullable<GpuStatus["recommended"]>,
  now: Status["agent"]["mode"],
): string =>
  mode === now
    ? `mode ${mode} suits these clients: ${reason}`
    : `mode ${mode} would suit these clients better, at the next "cotenant up": ${reason}`;

function describeObjective({ name, pid, sloP99Us, sloSlowdown, objective }: HighStatus): string[] {
  const wanted = [
    sloP99Us !== undefined && `${micros(sloP99Us)} p99`,
    sloSlowdown !== undefined && `p99 ${percent(sloSlowdown)} above alone`,
  ].filter(Boolean);
  if (wanted.length === 0) return [];
  const found = objective
    ? `${inWords[objective.state]}, level ${objective.level}`
    : "this policy does not act on it";
  return [`objective of ${name} (pid ${pid}): ${wanted.join(" and ")}, ${found}`];
}

const inWords = {
  learning: "learning",
  met: "met",
  missed: "missed",
  impossible: "not met even alone",
} as const;

const highRow = (client: HighStatus) => [
  shownClass(client),
  client.name,
  String(client.pid),
  client.burstsPerS.toFixed(1),
  micros(client.burstP50Us),
  micros(client.burstP99Us),
  percent(client.activeShare),
  micros(client.aheadMeanUs),
  "",
  "",
  "",
];

const bestEffortRow = (client: BestEffortStatus) => [
  shownClass(client),
  client.name,
  String(client.pid),
  "",
  "",
  "",
  percent(client.gpuShare),
  micros(client.aheadUs),
  percent(client.heldShare),
  percent(client.turnShare),
  client.memoryQuota > 0
    ? `${gibibytes(client.memoryUsed)} of ${gibibytes(client.memoryQuota)}`
    : gibibytes(client.memoryUsed),
];

const shownClass = ({ class: kind, connected }: HighStatus | BestEffortStatus) =>
  connected ? kind : `${kind} (detached)`;
