// The scripts of deploy/slurm in a real Slurm: what test/deploy/slurm.test.ts takes from its manual pages.
import { once } from "node:events";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { training } from "../e2e/faults.ts";
import { cotenantItself, emptyMachine, eventually, temporaryDirectory } from "../e2e/machine.ts";
import { forbidden, missing } from "./possible.ts";
import { slurmTools, startSlurm, withoutFreezer } from "./slurm-node.ts";

const why = [...missing(slurmTools), ...forbidden(), ...withoutFreezer()];
if (why.length > 0) console.error(`SKIPPED: jobs of a Slurm, because ${why.join(", ")}.`);

test.skipIf(why.length > 0)(
  "jobs of a Slurm are clients by their partition, their end is noted, and a node without an agent takes none",
  async () => {
    const machine = emptyMachine();
    await machine.up("--system");
    const socket = join(machine.directory, "syslog");
    let noted = "";
    const syslog = createServer((from) => from.on("data", (text) => (noted += text)));
    onTestFinished(() => void syslog.close());
    syslog.listen(socket);
    await once(syslog, "listening");
    const slurm = await startSlurm(temporaryDirectory(), {
      COTENANT: resolve("bin/cotenant"),
      COTENANT_DIR: machine.directory,
      COTENANT_SYSLOG: socket,
    });
    const program = [
      "env",
      `LD_LIBRARY_PATH=${resolve("build/native/softgpu")}`,
      `COTENANT_SOFTGPU_DIR=${machine.directory}/softgpu`,
      ...[...cotenantItself, "load", ...training],
    ];
    const submit = (partition: string, name: string) => {
      slurm.start("srun", "-p", partition, "--gres=gpu:1", "-n1", "-J", name, ...program);
    };
    const client = async (name: string) => {
      const { gpus } = await machine.status();
      const all = gpus.flatMap(({ high, bestEffort }) => [...high, ...bestEffort]);
      return all.find((one) => one.name === name);
    };
    const jobs = () => slurm.ask("squeue", "-h", "-o", "%i %T").trim();

    for (const [partition, kind] of [
      ["best-effort", "best-effort"],
      ["serving", "high"],
    ] as const) {
      const name = `night-${kind}`;
      submit(partition, name);
      await eventually(`${name} is a client`, async () => (await client(name)) !== undefined);
      const [job = ""] = jobs().split(" ");
      expect(await client(name)).toMatchObject({ class: kind, identity: { slurmJob: job } });
      slurm.ask("scancel", job);
      await eventually("its end is noted", () => noted.includes(`Slurm job ${job}`));
      expect(noted).toContain(`cotenant-job-${job}`);
      await eventually("the job has ended", () => jobs() === "");
    }

    await machine.cotenant(["down"]);
    const batch = ["-p", "best-effort", "--gres=gpu:1", "-o", "/dev/null", "--wrap", "true"];
    slurm.ask("sbatch", ...batch);
    await eventually("Slurm takes the node out", () =>
      slurm.ask("sinfo", "-h", "-o", "%T %E").startsWith("drain"),
    );
    expect(slurm.ask("sinfo", "-h", "-o", "%E")).toContain("Prolog error");
    await eventually("the job waits again", () => jobs().endsWith("PENDING"));
  },
);
