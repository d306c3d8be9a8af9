// The command that leads to the dashboard: the token is in the URL that it prints, and in nothing that others can read.
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pathsIn } from "#agent";
import { emptyMachine, eventually, startMachine, temporaryDirectory } from "../e2e/machine.ts";

test("prints a URL that opens the page, whose fragment is the token of the data", async () => {
  const machine = await startMachine();
  const { status, stdout, stderr } = await machine.cotenant(["dashboard"]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const { origin, pathname, hash, search } = new URL(stdout.trim());
  expect([pathname, search, hash]).toEqual(["/dashboard", "", `#${machine.agent().token}`]);
  const page = await fetch(`${origin}${pathname}`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("Cotenant")]);
  const headers = { authorization: `Bearer ${hash.slice(1)}` };
  const data = await fetch(`${origin}/dashboard/live`, { headers });
  expect([data.status, data.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  await data.body?.cancel();
});

test("opens it by a file that only the user can read, so that no command line holds the token", async () => {
  const folder = temporaryDirectory();
  const said = `${folder}/said`;
  writeFileSync(
    `${folder}/xdg-open`,
    `#!/bin/sh\necho "$@" >"${said}.part"\nmv "${said}.part" "${said}"\n`,
  );
  chmodSync(`${folder}/xdg-open`, 0o755);
  const machine = await startMachine();
  const { dashboard } = pathsIn(machine.directory);
  for (let times = 0; times < 2; times++) {
    const env = { PATH: `${folder}:${process.env.PATH}` };
    const { status, stdout, stderr } = await machine.cotenant(["dashboard", "--open"], env);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(statSync(dashboard).mode & 0o777).toBe(0o600);
    expect(readFileSync(dashboard, "utf8")).toContain(stdout.trim());
  }
  await eventually("the opener was started", () => existsSync(said));
  expect(readFileSync(said, "utf8")).toBe(`${dashboard}\n`);
});

test("says so where nothing can open it, and where no agent runs", async () => {
  const machine = await startMachine();
  const opened = await machine.cotenant(["dashboard", "--open"], {
    PATH: temporaryDirectory(),
    COTENANT_NODE: process.execPath,
  });
  expect(opened.status).toBe(0);
  expect(opened.stdout).toContain(machine.agent().token);
  expect(opened.stderr).toContain("xdg-open can't be started");
  const { status, stderr } = await emptyMachine().cotenant(["dashboard"]);
  expect([status, stderr]).toEqual([1, expect.stringContaining("No agent")]);
});
