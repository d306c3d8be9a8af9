import {
  type BestEffortStatus,
  describeIdentity,
  type GpuStatus,
  type HighStatus,
  type Launch,
  type Status,
  type Stranger,
} from "#agent";
import { askStatus, ownAgentHere } from "#client";
import { gibibytes, micros, percent, table, wrap } from "#core";
import { caveats } from "#protocol";
import { command, json } from "../command.ts";

export const statusCommand = command({
  name: "status",
  summary: "who is on the GPUs and how they fare",
  options: { json },
  async run(args) {
    const status = await askStatus(ownAgentHere().agent);
    console.log(
      args.json ? JSON.stringify(status, null, 2) : describe(status, process.stdout.columns),
    );
    return 0;
  },
});

/** The whole status, for people, in lines of at most so many columns (from 60 on). */
export function describe(status: Status, columns = Number.POSITIVE_INFINITY): string {
  const { pid, mode, policy, cpuShare, residentBytes, upSeconds } = status.agent;
  const up = upSeconds < 120 ? `${upSeconds.toFixed(0)} s` : `${(upSeconds / 60).toFixed(0)} min`;
  return [
    ...wrap(
      `Agent ${pid}, up ${up}: mode ${mode}, policy ${policy}, ${percent(cpuShare)} CPU, ${gibibytes(residentBytes)}`,
      columns,
    ),
    ...status.launched.map(describeLaunch),
    ...status.gpus.flatMap((gpu) => ["", ...describeClients(gpu, status.agent, columns)]),
    ...(status.gpus.length === 0 ? ["", "No client has come yet."] : []),
  ].join("\n");
}

const describeLaunch = ({ name, pid, class: kind }: Launch): string =>
  `${name} (pid ${pid}, ${kind}): launched, no CUDA yet`;

/** One line about a GPU itself. */
export function describeGpu({ name, uuid, reading }: GpuStatus): string {
  const facts = [
    reading?.memoryUsed !== undefined &&
      reading.memoryTotal !== undefined &&
      `${gibibytes(reading.memoryUsed)} of ${gibibytes(reading.memoryTotal)} used`,
    reading?.utilisation !== undefined && `${percent(reading.utilisation)} busy`,
    reading?.smClockMHz !== undefined && `${reading.smClockMHz} MHz`,
    reading?.powerW !== undefined && `${reading.powerW.toFixed(0)} W`,
    reading?.error !== undefined && `not to be read: the driver says "${reading.error}"`,
  ].filter(Boolean);
  return [`${name || "GPU"} ${uuid}`, ...facts].join(", ");
}

const INDENT = "  ";

function describeClients(
  gpu: GpuStatus,
  { mode, scope }: Status["agent"],
  columns: number,
): string[] {
  const { high, bestEffort, strangers, recommended } = gpu;
  const within = columns - INDENT.length;
  const clients = [
    ...fitRows([highHeader, ...high.map(highRow)], within),
    ...fitRows([bestEffortHeader, ...bestEffort.map(bestEffortRow)], within),
  ];
  const sentences = [
    ...high.flatMap(describeSharing),
    ...high.flatMap(describeObjective),
    ...[...high, ...bestEffort].flatMap(describeCaveats),
    ...[...high, ...bestEffort].flatMap((client) => describeTenant(client, scope)),
    ...high.filter(({ implausible }) => implausible > 0).map(describeDamage),
    ...bestEffort.flatMap(describeIgnored),
    ...(recommended ? [describeAdvice(recommended, mode)] : []),
    ...strangers.map(describeStranger),
  ].flatMap((sentence) => wrap(sentence, within));
  return [
    ...wrap(describeGpu(gpu), columns),
    ...[...(clients.length > 0 ? clients : ["no client"]), ...sentences].map(
      (line) => `${INDENT}${line}`,
    ),
  ];
}

/** The owner of a client. Nothing with a user's own agent, whose clients all have the same owner. */
const describeTenant = (
  { name, pid, identity, grant }: HighStatus | BestEffortStatus,
  scope: Status["agent"]["scope"],
): string[] =>
  scope === "machine" && identity
    ? [`${name} (pid ${pid}): ${describeIdentity(identity)}, by the grant "${grant}"`]
    : [];

const describeStranger = ({ pid, name, memory, agentPid, identity }: Stranger): string =>
  `stranger: pid ${pid} ${name || "unknown"} (${[identity && describeIdentity(identity), gibibytes(memory)].filter(Boolean).join(", ")}) ${
    agentPid === undefined
      ? "holds no slot, so it is neither protected nor gated"
      : `is a client of another agent (pid ${agentPid}), so neither holds back what disturbs the other: give both the same COTENANT_DIR`
  }`;

/** A table of clients; where it is too wide, their names are cut. Nothing where there is no client. */
function fitRows(rows: readonly (readonly [string, ...string[]])[], columns: number): string[] {
  if (rows.length === 1) return [];
  const lines = table(rows, 1);
  const excess = Math.max(...lines.map((line) => line.length)) - columns;
  if (excess <= 0) return lines;
  const longest = Math.max(...rows.map(([name]) => name.length));
  const room = Math.max(longest - excess, rows[0]?.[0].length ?? 0);
  return table(
    rows.map(([name, ...rest]) => [
      name.length > room ? `${name.slice(0, room - 1)}…` : name,
      ...rest,
    ]),
    1,
  );
}

/** The mode is fixed when processes start, so the recommendation is for the next start. */
const describeAdvice = (
  { mode, reason }: NonNullable<GpuStatus["recommended"]>,
  now: Status["agent"]["mode"],
): string =>
  mode === now
    ? `mode ${mode} suits these clients: ${reason}`
    : `mode ${mode} would suit these clients better, at the next "cotenant up": ${reason}`;

const describeSharing = ({ name, pid, sharedShare }: HighStatus): string[] =>
  sharedShare > 0
    ? [
        `${name} (pid ${pid}) takes turns with best-effort work until a launch of its is seen to end`,
      ]
    : [];

function describeObjective({ name, pid, sloP99Us, sloSlowdown, objective }: HighStatus): string[] {
  const wanted = [
    sloP99Us !== undefined && `${micros(sloP99Us)} p99`,
    sloSlowdown !== undefined && `slowdown ${percent(sloSlowdown)}`,
  ].filter(Boolean);
  if (wanted.length === 0) return [];
  const found = objective
    ? `${inWords[objective.state]}, level ${objective.level}`
    : "this policy does not act on it";
  return [`objective of ${name} (pid ${pid}): ${wanted.join(" and ")}, ${found}`];
}

/** What Cotenant can't do for a client although the client has a slot. */
function describeCaveats(client: HighStatus | BestEffortStatus): string[] {
  const without = client.class === "high" ? "protected" : "held back";
  const said = [
    client.caveats & caveats.ranks &&
      "is one rank of several: each is protected on its own GPU alone",
    client.caveats & caveats.gpus && "uses several GPUs: it is protected on each by itself",
    client.caveats & caveats.pastUs &&
      `has loaded a library past Cotenant: what that submits is not ${without}`,
    client.unhooked > 0 &&
      `has made ${client.unhooked} calls that Cotenant does not know: what they submit is not ${without}`,
  ];
  return said.flatMap((what) => (what ? [`${client.name} (pid ${client.pid}) ${what}`] : []));
}
const describeIgnored = ({ name, pid, hold }: BestEffortStatus): string[] =>
  hold && hold.ignored > 0
    ? [
        `${name} (pid ${pid}) ignores its hold: in ${hold.ignored} of ${hold.trials} pauses that the agent made to see that, its kernels ran on; they now run in ${percent(hold.usedShare)} of the time, of which ${percent(1 - hold.openShare)} belong to requests`,
      ]
    : [];

const describeDamage = ({ name, pid, implausible }: HighStatus): string =>
  `counters of ${name} (pid ${pid}): ${implausible} ${implausible === 1 ? "look" : "looks"} at them showed what can't be true, so something writes over them; what they say is believed again after each`;

const inWords = {
  learning: "learning",
  met: "met",
  missed: "missed",
  impossible: "not met even alone",
} as const;

const highHeader = ["high", "pid", "bursts/s", "p50", "p99", "waited", "active", "ahead"] as const;

const highRow = (client: HighStatus) =>
  [
    shownName(client),
    String(client.pid),
    client.burstsPerS.toFixed(1),
    micros(client.burstP50Us),
    micros(client.burstP99Us),
    micros(client.burstWaitP99Us),
    percent(client.activeShare),
    micros(client.aheadMeanUs),
  ] as const;

const bestEffortHeader = [
  "best-effort",
  "pid",
  "active",
  "ahead",
  "held",
  "turn",
  "memory",
] as const;

const bestEffortRow = (client: BestEffortStatus) =>
  [
    shownName(client),
    String(client.pid),
    percent(client.gpuShare),
    micros(client.aheadUs),
    percent(client.heldShare),
    percent(client.turnShare),
    client.memoryQuota > 0
      ? `${gibibytes(client.memoryUsed)} of ${gibibytes(client.memoryQuota)}`
      : gibibytes(client.memoryUsed),
  ] as const;

/** A detached client has not come back since the agent was restarted. */
const shownName = ({ name, connected }: HighStatus | BestEffortStatus) =>
  connected ? name : `detached: ${name}`;
