// Two containers of different users on one GPU, with namespaces of their own, run by the runtimes that people use.
import { mkdtempSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { BestEffortStatus } from "#agent";
import type { CdiDocument } from "#client";
import { service, training } from "../e2e/faults.ts";
import { emptyMachine, eventually, type Machine, withoutLate } from "../e2e/machine.ts";
import { startContainerd } from "./containerd.ts";
import { loadInside } from "./image.ts";
import { startPodman } from "./podman.ts";
import { forbidden, missing } from "./possible.ts";
import type { Container, StartRuntime } from "./runtime.ts";

const runtimes: readonly [string, StartRuntime, readonly string[]][] = [
  ["containerd", startContainerd, ["containerd", "ctr", "runc"]],
  ["Podman", startPodman, ["podman", "runc"]],
];
/** Assembles a kernel as Triton does, until the agent has made its variants in time. The real ptxas prints what it gets. Status 0: the variant was there. */
const COMPILE = `
cat > /tmp/ptxas <<'end'
#!/bin/sh
[ "$1" = --version ] && echo "ptxas of the test" || cat "$@"
end
chmod +x /tmp/ptxas
cat > /tmp/k.ptx <<'end'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) { ret; }
end
export COTENANT_PTXAS=/tmp/ptxas
for try in $(seq 100); do
  "$TRITON_PTXAS_PATH" /tmp/k.ptx > /tmp/given
  grep -q __cotenant_preempt /tmp/given && break
  sleep 0.2
done
grep -q '.entry k__cotenant_preempt' /tmp/given
`;

const HIGH_UID = 1000;
const BEST_EFFORT_UID = 2000;
const grants = {
  version: 1,
  grants: [
    { name: "serving", to: { user: HIGH_UID }, class: "high" },
    { name: "batch", to: { everybody: true }, class: "best-effort" },
  ],
};

for (const [name, start, tools] of runtimes) {
  const why = [...missing(tools), ...forbidden()];
  if (why.length > 0) console.error(`SKIPPED: containers of ${name}, because ${why.join(", ")}.`);

  test.skipIf(why.length > 0)(`two users' containers of ${name} share a GPU by class`, async () => {
    const { machine, runtime } = await machineWith(start);
    const bestEffort = runtime.run({
      name: `train-${process.pid}`,
      uid: BEST_EFFORT_UID,
      device: "best-effort",
      command: [...loadInside, ...training, "--json"],
    });
    await bestEffort.said("load: serving");
    expect(await trainingOn(machine)).toMatchObject({ heldSeconds: 0 });
    const high = runtime.run({
      name: `serve-${process.pid}`,
      uid: HIGH_UID,
      device: "high",
      command: [...loadInside, ...service, "--json"],
    });
    await high.said("load: serving");
    await eventually("requests hold it", async () => (await trainingOn(machine)).heldSeconds > 0);

    const known = await clientsOf(machine);
    expect(known.map(({ class: kind, identity, grant }) => [kind, identity?.uid, grant])).toEqual([
      ["high", HIGH_UID, "serving"],
      ["best-effort", BEST_EFFORT_UID, "batch"],
    ]);
    if (seesCgroups)
      for (const { identity } of known) expect(identity?.container).toEqual(expect.any(String));
    for (const kind of ["pid", "mnt", "ipc", "net"]) {
      const pids = [process.pid, ...known.map(({ pid }) => pid)];
      const namespaces = pids.map((pid) => readlinkSync(`/proc/${pid}/ns/${kind}`));
      expect(new Set(namespaces).size, kind).toBe(3);
    }

    const compiling = runtime.run({
      name: `compile-${process.pid}`,
      uid: BEST_EFFORT_UID,
      device: "best-effort",
      command: ["sh", "-c", COMPILE],
    });
    // By its status: ctr may lose what a short program prints.
    expect(await compiling.ended).toMatchObject({ status: 0 });

    await inOrder(high, known[0]?.pid);
    await eventually("nothing holds it", async () => (await trainingOn(machine)).heldShare === 0);
    await inOrder(bestEffort, known[1]?.pid);
  });
}

/** Whether an agent can tell containers by their cgroups: it is in the first cgroup namespace, as on a host. */
const seesCgroups = readlinkSync("/proc/self/ns/cgroup") === "cgroup:[4026531835]";

/** An agent of the machine, and a runtime that makes clients of it. */
async function machineWith(start: StartRuntime) {
  const machine = emptyMachine();
  const folder = mkdtempSync(join(tmpdir(), "cotenant-containers-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "grants.json");
  writeFileSync(file, JSON.stringify(grants), { mode: 0o644 });
  await machine.up("--system", "--grants", file);
  const { stdout } = await machine.cotenant(["cdi", "generate", "--gpu", "soft"]);
  const runtime = await start(join(folder, "runtime"), JSON.parse(stdout) as CdiDocument);
  return { machine, runtime };
}

async function clientsOf(machine: Machine) {
  const { gpus } = await machine.status();
  return gpus.flatMap(({ high, bestEffort }) => [...high, ...bestEffort]);
}

async function trainingOn(machine: Machine): Promise<BestEffortStatus> {
  const found = (await machine.status()).gpus[0]?.bestEffort[0];
  if (!found) throw new Error("the agent sees no best-effort client");
  return found;
}

/** Ends the load in a container, which must have done all of its work. */
async function inOrder({ ended }: Container, pid = 0): Promise<void> {
  expect(pid).toBeGreaterThan(1);
  process.kill(pid, "SIGTERM");
  const { status, stdout, stderr } = await ended;
  expect({ status, said: withoutLate(stderr).match(/^cotenant: .*/gm) }).toEqual({
    status: 0,
    said: null,
  });
  const result = JSON.parse(stdout);
  expect(result).toMatchObject({ intact: true });
  expect(result.requests).toBeGreaterThan(0);
}
