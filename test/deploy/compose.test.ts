// The compose file, as podman-compose reads it: the clients in it get what a device of CDI would give them.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { cdiDocument } from "#client";
import { SYSTEM_DIRECTORY } from "#core";

const { status, stdout, stderr } = spawnSync(
  "scripts/podman-compose",
  ["-f", "deploy/compose/compose.yaml", "config"],
  { encoding: "utf8" },
);
if (status !== 0)
  console.error(`SKIPPED: the compose file, because podman-compose can't be had: ${stderr}`);

/** The settings of one service, merged and in one form. */
const service = (name: string): string =>
  stdout.split(/^(?= {2}\w+:$)/m).find((part) => part.startsWith(`  ${name}:`)) ?? "";

test.skipIf(status !== 0)("the agent sees the processes and cgroups of all containers", () => {
  expect(service("agent")).toMatch(/^ {4}pid: host$/m);
  expect(service("agent")).toMatch(/^ {4}cgroup: host$/m);
  expect(service("agent")).toContain("- /run/cotenant:/run/cotenant\n");
});

test.skipIf(status !== 0).each([
  ["service", "high"],
  ["training", "best-effort"],
])("%s is a client of class %s, by what its device would bring", (name, kind) => {
  const device = cdiDocument(SYSTEM_DIRECTORY, "nvidia").devices.find((one) => one.name === kind);
  const { env = [], mounts = [] } = device?.containerEdits ?? {};
  expect(env.length).toBeGreaterThan(0);
  for (const variable of env) expect(service(name)).toContain(`  ${variable.replace("=", ": ")}\n`);
  for (const { containerPath } of mounts) expect(service(name)).toContain(`:${containerPath}:ro\n`);
});
