// Clients in PID namespaces of their own, as in containers: only the agent must see all of them.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { isLocked } from "#agent";
import { service, training } from "./faults.ts";
import { cotenantItself, eventually, type Machine, startMachine, withoutLate } from "./machine.ts";

const unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];

/** Where the kernel or a sandbox forbids it. */
const allowed = spawnSync("unshare", [...unshare.slice(1), "true"]).status === 0;
if (!allowed)
  console.error("SKIPPED: clients in other PID namespaces, because unshare is not allowed.");

const loading = (machine: Machine, kind: "high" | "best-effort", shape: readonly string[]) =>
  machine.run(kind, [...unshare, ...cotenantItself, "load", ...shape, "--json"]);

test.skipIf(!allowed)(
  "a high and a best-effort client in PID namespaces of their own are served under the pids that the agent sees",
  async () => {
    const machine = await startMachine();
    const clients = [loading(machine, "high", service), loading(machine, "best-effort", training)];
    for (const client of clients) await client.said("load: serving");
    const slots = async () => {
      const [gpu] = (await machine.status()).gpus;
      return [...(gpu?.high ?? []), ...(gpu?.bestEffort ?? [])];
    };
    // An agent that has no CPU time takes a client later.
    await eventually("both are served", async () => (await slots()).length === clients.length);
    const served = await slots();
    const pids = served.map(({ pid }) => pid);
    // The software GPU knows them by the pids of their own namespaces.
    expect(served.map(({ gpuMemory }) => gpuMemory)).toEqual([undefined, undefined]);
    // Each is the only child of its unshare, and process 1 of its own namespace.
    expect(pids.map(parentOf)).toEqual(clients.map(({ pid }) => pid));
    for (const pid of pids) process.kill(pid, "SIGTERM");
    for (const { ended } of clients) {
      const { status, stdout, stderr } = await ended;
      const said = withoutLate(stderr).match(/^cotenant: .*/gm);
      expect({ status, said }).toEqual({ status: 0, said: null });
      const result = JSON.parse(stdout);
      expect(result).toMatchObject({ intact: true });
      expect(result.requests).toBeGreaterThan(0);
    }
  },
);

test.skipIf(!allowed)("one that is killed leaves its slot, and holds up nobody", async () => {
  const machine = await startMachine();
  const killed = loading(machine, "high", service);
  await killed.said("load: serving");
  const other = loading(machine, "best-effort", [...training, "--seconds", "1"]);
  await other.said("load: serving");
  killed.signal("SIGKILL");
  await killed.ended;
  expect(JSON.parse((await other.ended).stdout)).toMatchObject({ intact: true });
  expect((await machine.status()).gpus.flatMap(({ high }) => high)).toEqual([]);
});

test.skipIf(!allowed)(
  "a command in another PID namespace than the agent's finds the agent, and no agent that has ended",
  async () => {
    const machine = await startMachine();
    const inside = async (...words: readonly string[]) => {
      const { status, stdout, stderr } = await machine.elsewhere([
        ...unshare,
        ...cotenantItself,
        ...words,
      ]).ended;
      return { status, stdout, stderr };
    };
    const briefly = ["load", "--arrivals", "closed", "--seconds", "0.3", "--json"];
    const ran = await inside("run", "--class", "high", "--", ...cotenantItself, ...briefly);
    expect(ran.status).toBe(0);
    expect(JSON.parse(ran.stdout)).toMatchObject({ intact: true });
    expect(withoutLate(ran.stderr)).not.toMatch(/^cotenant: /m);
    await machine.killAgent();
    await eventually("the agent is gone", () => !isLocked(machine.directory));
    expect(await inside("status")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        new RegExp(
          `No agent is running in ${machine.directory}: agent \\d+ has ended without having been stopped\\.`,
        ),
      ),
    });
  },
);

function parentOf(pid: number): number {
  const { stdout } = spawnSync("ps", ["-o", "ppid=", "-p", `${pid}`], { encoding: "utf8" });
  return Number(stdout);
}
