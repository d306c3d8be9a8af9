// The example for Slurm, as slurmd runs it: with its variables, in the cgroup of a job, beside a real agent.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readlinkSync, rmdirSync } from "node:fs";
import { createServer } from "node:net";
import { resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { training } from "../e2e/faults.ts";
import { cotenantItself, emptyMachine, eventually, type Machine } from "../e2e/machine.ts";

const JOB = 4711;
/** cgroup v1 and v2: the first folder that there is. */
const [cgroups = ""] = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].filter((at) => existsSync(at));
const jobFolder = [`${cgroups}/slurm`, "uid_0", `job_${JOB}`];

function hasJobs(): boolean {
  if (process.getuid?.() !== 0 || readlinkSync("/proc/self/ns/cgroup") !== "cgroup:[4026531835]")
    return false;
  try {
    mkdirSync(jobFolder.join("/"), { recursive: true });
    return true;
  } catch {
    return false;
  }
}
const allowed = hasJobs();
if (!allowed) console.error("SKIPPED: a job of Slurm, because no cgroup can be made here.");

/** Runs one of the scripts with what Slurm sets. */
function script(name: string, machine: Machine, env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr } = spawnSync(`deploy/slurm/${name}.sh`, {
    encoding: "utf8",
    env: {
      PATH: process.env.PATH ?? "",
      COTENANT: resolve("bin/cotenant"),
      COTENANT_DIR: machine.directory,
      SLURM_JOB_ID: `${JOB}`,
      SLURM_JOB_GPUS: "0",
      SLURM_JOB_NAME: "night",
      SLURM_JOB_PARTITION: "best-effort",
      ...env,
    },
  });
  return { status, stdout, stderr };
}

/** The variables that a task gets from what its prolog prints. */
const exported = (printed: string): Record<string, string> =>
  Object.fromEntries(
    [...printed.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );

test.skipIf(!allowed)("a job of Slurm becomes a client, and its end is noted", async () => {
  const machine = emptyMachine();
  await machine.up("--system");
  onTestFinished(() => {
    for (let depth = jobFolder.length; depth > 0; depth--)
      rmdirSync(jobFolder.slice(0, depth).join("/"));
  });
  expect(script("prolog", machine)).toEqual({ status: 0, stdout: "", stderr: "" });
  const variables = exported(script("task-prolog", machine).stdout);
  expect(variables).toMatchObject({ COTENANT_CLASS: "best-effort", COTENANT_NAME: "night" });

  const soft = {
    LD_LIBRARY_PATH: resolve("build/native/softgpu"),
    COTENANT_SOFTGPU_DIR: `${machine.directory}/softgpu`,
  };
  const task = machine.elsewhere([
    ...["sh", "-c", `echo $$ > "$0/cgroup.procs" && exec env "$@"`, jobFolder.join("/")],
    ...Object.entries({ ...soft, ...variables }).map(([name, value]) => `${name}=${value}`),
    ...[...cotenantItself, "load", ...training],
  ]);
  await task.said("load: serving");
  await eventually("the job is a client", async () => (await machine.slotOf(task)) !== undefined);
  expect(await machine.slotOf(task)).toMatchObject({
    name: "night",
    identity: { slurmJob: `${JOB}` },
  });
  task.signal("SIGTERM");
  await task.ended;
  await eventually("it has left", async () => (await machine.slotOf(task)) === undefined);

  const socket = `${machine.directory}/syslog`;
  let noted = "";
  const syslog = createServer((from) => from.on("data", (text) => (noted += text)));
  onTestFinished(() => void syslog.close());
  syslog.listen(socket);
  await once(syslog, "listening");
  expect(script("epilog", machine, { COTENANT_SYSLOG: socket })).toEqual({
    status: 0,
    stdout: "",
    stderr: "",
  });
  await eventually("it is noted", () => noted.includes(`Slurm job ${JOB}`));
  expect(noted).toContain(`cotenant-job-${JOB}`);
});

test("jobs of other partitions are high, and keep their own libraries", () => {
  const { stdout } = script("task-prolog", emptyMachine(), {
    SLURM_JOB_PARTITION: "serving",
    LD_PRELOAD: "/usr/lib/libtcmalloc.so.4",
  });
  expect(exported(stdout)).toMatchObject({
    COTENANT_CLASS: "high",
    LD_PRELOAD: `${resolve("build/native/libcotenant.so")}:/usr/lib/libtcmalloc.so.4`,
  });
});

test("a job without a GPU, and one that wants no Cotenant, get no variables", () => {
  const machine = emptyMachine();
  for (const env of [{ SLURM_JOB_GPUS: "" }, { COTENANT_OFF: "1" }])
    expect(script("task-prolog", machine, env)).toEqual({ status: 0, stdout: "", stderr: "" });
});

test("a node without an agent takes no GPU job, and every other", () => {
  const machine = emptyMachine();
  expect(script("prolog", machine)).toEqual({
    status: 1,
    stdout: "",
    stderr: expect.stringMatching(`^job ${JOB}: cotenant: No agent is running in`),
  });
  expect(script("prolog", machine, { SLURM_JOB_GPUS: "" }).status).toBe(0);
});
