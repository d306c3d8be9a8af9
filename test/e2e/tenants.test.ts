// One agent for all users of a machine, and processes of two users in PID namespaces of their own.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Explanation } from "#agent";
import { packageRoot } from "#core";
import { service, training } from "./faults.ts";
import { emptyMachine, type Machine } from "./machine.ts";

const HIGH_UID = 1000;
const OTHER_UID = 2000;

/** The package is mounted where all users can reach it, and the command runs as that user. */
const SCRIPT =
  'mount --bind "$1" "$2" && uid=$3 && shift 3 && exec setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"';

const asUser = (uid: number, at: string, words: readonly string[]): readonly string[] => [
  ...["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
  ...["sh", "-c", SCRIPT, "sh", packageRoot(), at, `${uid}`, ...words],
];

const [probe = "", ...probeArgs] = asUser(HIGH_UID, tmpdir(), [process.execPath, "--version"]);
const allowed = process.getuid?.() === 0 && spawnSync(probe, probeArgs).status === 0;
if (!allowed)
  console.error(
    "SKIPPED: an agent for several users, because this user may not unshare and mount, or others can't reach node.",
  );

const grants = {
  version: 1,
  grants: [
    { name: "serving", to: { user: HIGH_UID }, class: "high" },
    { name: "batch", to: { everybody: true }, class: "best-effort", slots: 1, memory: "1GiB" },
  ],
};

/** An agent of the machine with these grants, and commands of its users. */
async function sharedMachine() {
  const machine = emptyMachine();
  const at = mkdtempSync(join(tmpdir(), "cotenant-package-"));
  onTestFinished(() => rmSync(at, { recursive: true, force: true }));
  mkdirSync(at, { recursive: true });
  const file = join(at, "..", `${at.split("/").at(-1)}.json`);
  writeFileSync(file, JSON.stringify(grants), { mode: 0o644 });
  onTestFinished(() => rmSync(file, { force: true }));
  await machine.up("--system", "--grants", file);
  const command = (uid: number, ...words: readonly string[]) =>
    machine.elsewhere(asUser(uid, at, [process.execPath, `${at}/bin/cotenant`, ...words]));
  const load = (uid: number, kind: "high" | "best-effort", shape: readonly string[]) =>
    command(
      uid,
      ...["run", "--class", kind, "--", process.execPath, `${at}/bin/cotenant`],
      ...["load", ...shape, "--json"],
    );
  return { machine, command, load };
}

async function clientsOf(machine: Machine) {
  const { gpus } = await machine.status();
  return gpus.flatMap(({ high, bestEffort }) => [...high, ...bestEffort]);
}

test.skipIf(!allowed)(
  "two users share a GPU by one agent, each with what is granted to it",
  async () => {
    const { machine, command, load } = await sharedMachine();
    const clients = [load(HIGH_UID, "high", service), load(OTHER_UID, "best-effort", training)];
    for (const client of clients) await client.said("load: serving");
    const known = await clientsOf(machine);
    expect(known.map(({ class: kind, identity, grant }) => [kind, identity?.uid, grant])).toEqual([
      ["high", HIGH_UID, "serving"],
      ["best-effort", OTHER_UID, "batch"],
    ]);
    expect(known[1]).toMatchObject({ memoryQuota: 2 ** 30 });

    // A second client of a tenant that has one slot runs on, ungated and said so.
    const second = await load(OTHER_UID, "best-effort", [...training, "--seconds", "0.2"]).ended;
    expect(second.stderr).toContain("has taken all its slots on this GPU (1)");

    const { stdout } = await machine.cotenant(["why", `${known[1]?.pid}`, "--json"]);
    expect(JSON.parse(stdout) satisfies Explanation).toMatchObject({
      identity: { uid: OTHER_UID, onHost: false },
      tenant: `uid ${OTHER_UID}`,
      grant: { name: "batch", class: "best-effort", slots: 1, memory: 2 ** 30 },
      slots: [{ class: "best-effort", grant: "batch" }],
    });

    const said = (await machine.cotenant(["why", `${known[1]?.pid}`])).stdout.split("\n");
    expect(said[0]).toMatch(/\(pid \d+\): uid 2000, gid 2000\.$/);
    expect(said[2]).toBe(
      'The first grant that applies is "batch": it may be best-effort, at most 1 of a tenant at a time on each GPU, at most 1.0 GiB of GPU memory for each best-effort client.',
    );
    expect(said.at(-2)).toMatch(/^It is a best-effort client on GPU-.*, by the grant "batch"\.$/);
    expect((await machine.cotenant(["status"])).stdout).toMatch(
      /\(pid \d+\): uid 1000.*, by the grant "serving"/,
    );

    // The agent is steered by its own user alone.
    for (const words of [["status"], ["down"], ["why", "1"]])
      expect(await command(OTHER_UID, ...words).ended).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("belongs to another user, who alone may ask or stop it."),
      });

    for (const { pid } of known) process.kill(pid, "SIGTERM");
    for (const { ended } of clients) {
      const { status, stdout: result } = await ended;
      expect(status).toBe(0);
      expect(JSON.parse(result)).toMatchObject({ intact: true });
    }
  },
);

test.skipIf(!allowed)("who asks for more than is granted is refused with a sentence", async () => {
  const { machine, load } = await sharedMachine();
  const { status, stdout, stderr } = await load(OTHER_UID, "high", [...service, "--seconds", "0.3"])
    .ended;
  expect(stderr).toContain('uid 2000 may only be best-effort here, by the grant "batch".');
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ intact: true });
  expect(await clientsOf(machine)).toEqual([]);
});

test.skipIf(!allowed)("mode mps is for one user", async () => {
  const machine = emptyMachine();
  const { status, stderr } = await machine.cotenant([
    "up",
    "--gpu",
    "soft",
    "--system",
    "--mode",
    "mps",
  ]);
  expect(status).toBe(2);
  expect(stderr).toContain("--system goes with mode isolated only");
});
