// The units, as systemd reads them, and the agent of the machine with no more capabilities than its unit leaves it.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import type { Explanation } from "#agent";
import { training } from "../e2e/faults.ts";
import { cotenantItself, temporaryDirectory } from "../e2e/machine.ts";
import { allowed, OTHER_UID, sharedMachine } from "../e2e/tenants/shared-machine.ts";

const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
if (!hasSystemd) console.error("SKIPPED: systemd's units, because systemd-analyze is missing.");

const unit = (name: string) => readFileSync(`deploy/systemd/${name}.service`, "utf8");

test.skipIf(!hasSystemd).each([
  { name: "cotenant", manager: "--system" },
  { name: "cotenant-user", manager: "--user" },
])("systemd finds nothing wrong with $name.service", ({ name, manager }) => {
  const folder = temporaryDirectory();
  const own = `${folder}/cotenant.service`;
  // Where the package is installed to; systemd looks whether it is there.
  writeFileSync(own, unit(name).replaceAll("/usr/local/bin/cotenant", resolve("bin/cotenant")));
  mkdirSync(`${folder}/run`);
  const { status, stderr } = spawnSync(
    "systemd-analyze",
    [manager, "--man=no", "--recursive-errors=one", "verify", own],
    { encoding: "utf8", env: { ...process.env, XDG_RUNTIME_DIR: `${folder}/run` } },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

/** As setpriv names them. */
const capabilities = (unit("cotenant").match(/^CapabilityBoundingSet=(.*)$/m)?.[1] ?? "")
  .split(" ")
  .map((name) => name.replace("CAP_", "+").toLowerCase());

test.skipIf(!allowed)("an agent with the unit's capabilities tells its users apart", async () => {
  const confined = [
    "setpriv",
    "--no-new-privs",
    "--bounding-set",
    ["-all", ...capabilities].join(),
  ];
  const { machine, load } = await sharedMachine(
    (machine, args) =>
      machine.elsewhere([...confined, ...cotenantItself, "up", "--gpu", "soft", ...args]).ended,
  );
  const client = load(OTHER_UID, "best-effort", training);
  await client.said("load: serving");
  const [known] = (await machine.status()).gpus.flatMap(({ bestEffort }) => bestEffort);
  expect(known).toMatchObject({ identity: { uid: OTHER_UID }, grant: "batch" });
  const { stdout } = await machine.cotenant(["why", `${known?.pid}`, "--json"]);
  expect((JSON.parse(stdout) as Explanation).identity).toMatchObject({ onHost: false });
  process.kill(known?.pid ?? 0, "SIGTERM");
  expect((await client.ended).status).toBe(0);
});
