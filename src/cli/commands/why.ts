import { describeUser, type Explanation } from "#agent";
import { askWhy, ownAgentHere } from "#client";
import { gibibytes, usage } from "#core";
import { command, json } from "../program/command.ts";

const LARGEST_PID = 2 ** 22;

export const whyCommand = command({
  name: "why",
  summary: "what a process may be on this machine's GPUs, and by which grant",
  options: { json },
  positional: {
    name: "PID",
    doc: "a process, as this machine numbers it",
    atLeast: 1,
  },
  examples: ["cotenant why 4711"],
  async run({ positional: [text = "", ...more], ...args }) {
    const pid = Number(text);
    if (more.length > 0) throw usage("why asks about one process at a time.");
    if (!/^\d+$/.test(text) || pid < 1 || pid > LARGEST_PID)
      throw usage(`"${text}" is not a process: a whole number from 1 to ${LARGEST_PID}.`);
    const answer = await askWhy(ownAgentHere().agent, pid);
    console.log(args.json ? JSON.stringify(answer, null, 2) : describeWhy(answer).join("\n"));
    return answer.identity ? 0 : 1;
  },
});

function describeWhy({
  pid,
  name,
  identity,
  tenant,
  grant,
  slots,
  strangerOn,
}: Explanation): string[] {
  if (!identity || !grant) return [`There is no process ${pid}.`];
  const groups = identity.groups.length > 0 ? `, groups ${identity.groups.join(" ")}` : "";
  const origin = [
    identity.container && `container ${identity.container}`,
    identity.pod && `pod ${identity.pod}`,
    identity.unit && `unit ${identity.unit}`,
    identity.slurmJob && `Slurm job ${identity.slurmJob}`,
  ].filter(Boolean);
  return [
    `${name || "Process"} (pid ${pid}): ${describeUser(identity)}, gid ${identity.gid}${groups}.`,
    origin.length > 0
      ? `It belongs to ${origin.join(", ")} (cgroup ${identity.cgroup}).`
      : `It belongs to no container or service that is known (cgroup ${identity.cgroup || "unknown"}).`,
    `The first grant that applies is "${grant.name}": ${grantText(grant)}.`,
    ...(grant.slots === null ? [] : [`The tenant is ${tenant}.`]),
    ...slots.map(
      ({ gpu, class: kind, grant: by }) =>
        `It is a ${kind} client on ${gpu}${by === undefined ? "" : `, by the grant "${by}"`}.`,
    ),
    ...strangerOn.map((gpu) => `It is on ${gpu} without a slot: neither protected nor gated.`),
    ...(slots.length + strangerOn.length === 0 ? ["It is on no GPU now."] : []),
  ];
}

function grantText({
  class: kind,
  slots,
  memory,
  share,
}: NonNullable<Explanation["grant"]>): string {
  if (kind === "none") return "it gets no slot";
  return [
    kind === "high" ? "it may be high or best-effort" : "it may be best-effort",
    slots !== null && `at most ${slots} of a tenant at a time on each GPU`,
    memory > 0 && `at most ${gibibytes(memory)} of GPU memory for each best-effort client`,
    share > 1 && `${share} times as long turns as others among best-effort clients`,
  ]
    .filter(Boolean)
    .join(", ");
}
