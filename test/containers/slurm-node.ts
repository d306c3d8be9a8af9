// A Slurm of one node with one GPU, Debian's daemons in the foreground, with state, ports and keys of its own. It ends with the
// test. Slurm's own manual pages say what the lines of its files mean.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { availableParallelism, hostname } from "node:os";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { eventually } from "../e2e/machine.ts";

/** Also of the node's cgroup, slurm_NODE. */
const NODE = `cotenant-test-${process.pid}`;
const FREEZER = "/sys/fs/cgroup/freezer";

export const slurmTools = ["munged", "slurmctld", "slurmd", "srun", "sbatch"];

/** Why jobs can't be told by their cgroups here. */
export const withoutFreezer = (): string[] =>
  existsSync(FREEZER) ? [] : ["Slurm would need systemd for cgroups of version 2"];

interface Slurm {
  /** A client of Slurm, from start to end: srun, squeue and so on. */
  ask(program: string, ...args: string[]): string;
  /** One that goes on. */
  start(program: string, ...args: string[]): ChildProcess;
}

/** `scripts`: what the scripts of deploy/slurm find in their environment. */
export async function startSlurm(
  folder: string,
  scripts: Readonly<Record<string, string>>,
): Promise<Slurm> {
  const [keys, run, state, spool] = ["keys", "run", "state", "spool"].map((name) =>
    join(folder, name),
  );
  if (!keys || !run || !state || !spool) throw new Error("no folders");
  for (const made of [run, state, spool]) mkdirSync(made, { mode: 0o755 });
  mkdirSync(keys, { mode: 0o700 });
  const socket = join(run, "munge.socket");
  const config = join(folder, "slurm.conf");
  writeFileSync(join(keys, "key"), randomBytes(128), { mode: 0o400 });
  const [controller, node] = await twoFreePorts();
  const script = (name: string) => {
    const path = join(folder, `${name}.sh`);
    const lines = Object.entries(scripts).map(([variable, value]) => `export ${variable}=${value}`);
    const body = ["#!/bin/sh", ...lines, `exec ${resolve(`deploy/slurm/${name}.sh`)}`];
    writeFileSync(path, `${body.join("\n")}\n`, { mode: 0o755 });
    return path;
  };
  writeFileSync(
    config,
    `ClusterName=test
SlurmctldHost=${hostname()}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=${socket}
StateSaveLocation=${state}
SlurmdSpoolDir=${spool}
SlurmctldPidFile=${join(run, "slurmctld.pid")}
SlurmdPidFile=${join(run, "slurmd.pid")}
SlurmctldPort=${controller}
SlurmdPort=${node}
ProctrackType=proctrack/cgroup
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
GresTypes=gpu
PrologFlags=Alloc
Prolog=${script("prolog")}
Epilog=${script("epilog")}
TaskProlog=${script("task-prolog")}
NodeName=${NODE} NodeHostname=${hostname()} NodeAddr=127.0.0.1 CPUs=${availableParallelism()} Gres=gpu:1
PartitionName=serving Nodes=${NODE} Default=YES
PartitionName=best-effort Nodes=${NODE}
`,
  );
  // Any character device is a GPU for Slurm.
  writeFileSync(join(folder, "gres.conf"), "Name=gpu File=/dev/zero\n");
  writeFileSync(join(folder, "cgroup.conf"), "CgroupPlugin=cgroup/v1\n");

  const env = { ...process.env, SLURM_CONF: config };
  const started: ChildProcess[] = [];
  onTestFinished(async () => {
    for (const child of started.reverse()) await end(child);
    for (const left of foldersOf(`${FREEZER}/slurm_${NODE}`)) rmdirSync(left);
  });
  const start = (program: string, ...args: string[]): ChildProcess => {
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    started.push(child);
    return child;
  };
  const daemon = (program: string, ...args: string[]) => {
    const child = start(program, ...args);
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (said += text));
    return () => {
      if (child.exitCode !== null) throw new Error(`${program} has ended: ${said.slice(-2000)}`);
    };
  };
  const munge = [
    ...["--foreground", `--socket=${socket}`, `--key-file=${join(keys, "key")}`, "--force"],
    ...[`--pid-file=${join(run, "munged.pid")}`, `--seed-file=${join(keys, "seed")}`],
  ];
  const runs = [daemon("munged", ...munge)];
  await eventually("munged listens", () => existsSync(socket));
  runs.push(daemon("slurmctld", "-D", "-f", config));
  runs.push(daemon("slurmd", "-D", "-f", config, "-N", NODE));
  const ask = (program: string, ...args: string[]) =>
    execFileSync(program, args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  await eventually("the node is ready", () => {
    for (const check of runs) check();
    const { stdout } = spawnSync("sinfo", ["-h", "-o", "%T"], { env, encoding: "utf8" });
    return stdout.trim() === "idle";
  });
  return { ask, start };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const patience = setTimeout(() => child.kill("SIGKILL"), 20_000);
  await ended;
  clearTimeout(patience);
}

/** The innermost first. */
function foldersOf(root: string): readonly string[] {
  if (!existsSync(root)) return [];
  const found = execFileSync("find", [root, "-depth", "-type", "d"], { encoding: "utf8" });
  return found.split("\n").filter((path) => path !== "");
}

async function twoFreePorts(): Promise<readonly [number, number]> {
  const open = await Promise.all(
    [1, 2].map(
      () =>
        new Promise<Server>((resolve) => {
          const server = createServer().listen(0, "127.0.0.1", () => resolve(server));
        }),
    ),
  );
  const [one = 0, two = 0] = open.map((server) => {
    const address = server.address();
    return typeof address === "object" && address ? address.port : 0;
  });
  await Promise.all(open.map((server) => new Promise((closed) => server.close(closed))));
  return [one, two];
}
