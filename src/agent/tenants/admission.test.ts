import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Log } from "../log/log.ts";
import { admissionByFile, admitAll } from "./admission.ts";
import { describeIdentity, identityOf, tenantOf } from "./identity.ts";

const own = identityOf(process.pid);
const uid = process.getuid?.() ?? 0;

function grantsFile(content: string) {
  const folder = mkdtempSync(join(tmpdir(), "cotenant-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "grants.json");
  const write = (text: string) => writeFileSync(path, text, { mode: 0o644 });
  write(content);
  return { path, write };
}

const granting = (name: string) =>
  JSON.stringify({ version: 1, grants: [{ name, to: { everybody: true }, class: "none" }] });

test("this process is known by its user, its groups and its cgroup", () => {
  if (!own) throw new Error("this process is gone");
  expect(own).toMatchObject({ pid: process.pid, uid, gid: process.getgid?.() });
  // Node adds the process's own group.
  expect(new Set([own.gid, ...own.groups])).toEqual(new Set(process.getgroups?.()));
  expect(describeIdentity(own)).toContain(`uid ${uid}`);
});

test("the user that the socket reports counts, and a process that has ended has no identity", () => {
  expect(identityOf(process.pid, { uid: 7, gid: 8 })).toMatchObject({ uid: 7, gid: 8 });
  expect(identityOf(2 ** 22 + 1)).toBeUndefined();
});

test("a tenant is a container, else a Slurm job, else a user", () => {
  if (!own) throw new Error("this process is gone");
  const nowhere = { ...own, container: undefined, slurmJob: undefined, pod: undefined, uid: 5 };
  expect(tenantOf(nowhere)).toBe("uid 5");
  expect(tenantOf({ ...nowhere, slurmJob: "12" })).toBe("Slurm job 12");
  expect(tenantOf({ ...nowhere, slurmJob: "12", container: "web" })).toBe("container web");
});

test("a user's own agent admits every process that can connect, in any class", () => {
  if (!own) throw new Error("this process is gone");
  expect(admitAll.judge({ ...own, uid: 12_345 }, "high", 1000).refusal).toBeUndefined();
});

test("a file that has changed is read again; while it is wrong, its last right content applies", () => {
  if (!own) throw new Error("this process is gone");
  const said: string[] = [];
  const log: Log = (event) => void said.push(event);
  const { path, write } = grantsFile(granting("first"));
  const admission = admissionByFile(path, uid, log);
  expect(admission.grantFor(own).name).toBe("first");
  write("{ this is no JSON");
  expect(admission.grantFor(own).name).toBe("first");
  expect(admission.grantFor(own).name).toBe("first");
  write(granting("the second one"));
  expect(admission.grantFor(own).name).toBe("the second one");
  rmSync(path);
  expect(admission.grantFor(own).name).toBe("the second one");
  expect(said).toEqual(["grants not read", "grants read", "grants not read"]);
});

test("that a file has become wrong is told at the next sample, and once", () => {
  const said: string[] = [];
  const { path, write } = grantsFile(granting("first"));
  const admission = admissionByFile(path, uid, (event) => void said.push(event));
  admission.look();
  expect(said).toEqual([]);
  write("{ this is no JSON");
  admission.look();
  admission.look();
  expect(said).toEqual(["grants not read"]);
});

test("a file that is wrong at the start is refused", () => {
  const { path } = grantsFile("{");
  expect(() => admissionByFile(path, uid, () => {})).toThrow(path);
});
