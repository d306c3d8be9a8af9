// Two users share a GPU by one agent, each with what is granted to it.
import { expect, test } from "vitest";
import type { Explanation } from "#agent";
import { service, training } from "../faults.ts";
import { emptyMachine, type Machine } from "../machine.ts";
import { allowed, HIGH_UID, OTHER_UID, sharedMachine } from "./shared-machine.ts";

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

    // A second client of a tenant that has one slot waits for it.
    const second = load(OTHER_UID, "best-effort", [...training, "--seconds", "0.2"]);
    await second.said("has taken all its slots on this GPU (1)");

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
    expect(JSON.parse((await second.ended).stdout)).toMatchObject({ intact: true });
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
