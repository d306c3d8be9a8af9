// The cost of Cotenant itself, without a GPU: `npx tsx bench/cost/run.ts [OUT.json]` after `npm run native` and `npm
// run bundle`; takes about a minute. Prints a table; OUT.json is the same with its provenance.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { table } from "#core";
import { countInstructions, hasValgrind } from "./instructions.ts";
import { agentWithTwoClients, bystanderMemory, interposerMemory, launchNs } from "./processes.ts";

/** Instructions become time as if one ended each cycle at 4 GHz; what a clock says is beside it. */
const NS_PER_INSTRUCTION = 1 / 4;
const AGENT_SECONDS = 20;

const said = (command: string, ...args: string[]) =>
  execFileSync(command, args, { encoding: "utf8" }).trim();

if (!hasValgrind()) {
  console.error("bench/cost: valgrind is missing: install it (Debian: apt-get install valgrind).");
  process.exit(1);
}

const instructions = await countInstructions();
const gate = JSON.parse(said("build/native/bench/gate", "200")) as { ns: number };
const wallNs = {
  "gate decision": gate.ns,
  "high launch, bursts of 16": await launchNs("high"),
  "best-effort launch, chunks of 16": await launchNs("best-effort"),
  "best-effort launch, no high client": await launchNs("ungated"),
};
const interposerMib = {
  "high client, 32 streams, 400 kernels": await interposerMemory("high", 32, 400),
  "best-effort client, 32 streams, 400 kernels": await interposerMemory("best-effort", 32, 400),
  "process that never asks for the driver": bystanderMemory("Rss"),
};
const agent = await agentWithTwoClients(AGENT_SECONDS);

const ns = (count: number) => Number((count * NS_PER_INSTRUCTION).toFixed(1));
const targets = [
  row("gate decision", Math.max(ns(instructions["gate decision"]), gate.ns), 200, "ns"),
  row("agent, two clients", 100 * agent.cpuShare, 1, "% of a core"),
  row("agent, two clients", agent.mostMib, 150, "MiB"),
  row("interposer", Math.max(...Object.values(interposerMib)), 10, "MiB"),
];
function row(name: string, measured: number, atMost: number, unit: string) {
  return { name, measured: Number(measured.toFixed(2)), atMost, unit, met: measured <= atMost };
}

const lines = [
  ["instructions", "each", "ns at 4 GHz, 1 a cycle"],
  ...Object.entries(instructions).map(([name, count]) => [name, count.toFixed(0), `${ns(count)}`]),
];
for (const line of table(lines, 1)) console.log(line);
console.log();
for (const line of table([["by a clock here", "ns"], ...pairs(wallNs)], 1)) console.log(line);
console.log();
for (const line of table([["interposer adds", "MiB"], ...pairs(interposerMib)], 1))
  console.log(line);
console.log();
const verdicts = targets.map(({ name, measured, atMost, unit, met }) => [
  name,
  unit,
  `${measured}`,
  `${atMost}`,
  met ? "met" : "MISSED",
]);
for (const line of table([["target", "unit", "measured", "at most", ""], ...verdicts], 2))
  console.log(line);

function pairs(values: Record<string, number>): string[][] {
  return Object.entries(values).map(([name, value]) => [name, `${value}`]);
}

const [, , out] = process.argv;
if (out) {
  const result = {
    date: new Date().toISOString(),
    commit: said("git", "rev-parse", "HEAD"),
    uncommitted: said("git", "status", "--porcelain", "native", "src", "bench/cost") !== "",
    command: `npx tsx bench/cost/run.ts ${out}`,
    machine: {
      cpu: cpus()[0]?.model.trim() ?? "",
      cores: cpus().length,
      kernel: release(),
      memory: /MemTotal:\s+(.*)/.exec(readFileSync("/proc/meminfo", "utf8"))?.[1] ?? "",
      compiler: said("g++", "--version").split("\n")[0],
      valgrind: said("valgrind", "--version"),
      node: process.version,
    },
    nsPerInstruction: NS_PER_INSTRUCTION,
    instructions,
    wallNs,
    interposerMib,
    agent,
    targets,
  };
  writeFileSync(out, `${JSON.stringify(result, null, 2)}\n`);
}
process.exitCode = targets.every(({ met }) => met) ? 0 : 1;
