// The files that are written, in a folder that looks like the kernel's; test/e2e/protection has the kernel itself.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { openHostGuard } from "./guard.ts";
import { checkCpus, parseHostLimits } from "./limits.ts";

function cgroups(version: 1 | 2): string {
  const root = mkdtempSync(`${tmpdir()}/cotenant-cgroups-`);
  onTestFinished(() => rmSync(root, { recursive: true }));
  if (version === 2) writeFileSync(`${root}/cgroup.controllers`, "cpuset cpu memory\n");
  else {
    for (const one of ["cpu", "cpuset", "memory"]) mkdirSync(`${root}/${one}`);
    writeFileSync(`${root}/cpuset/cpuset.mems`, "0-1\n");
  }
  return root;
}

const all = { cpus: "2-3", weight: 10, memory: 2 ** 30 };

test("version 2: one cgroup with the controllers that are needed", () => {
  const root = cgroups(2);
  const guard = openHostGuard(all, root);
  const read = (file: string) => readFileSync(`${root}/${file}`, "utf8");
  expect(read("cgroup.subtree_control")).toBe("+cpuset +cpu +memory");
  const own = "cotenant-best-effort";
  expect(read(`${own}/cpuset.cpus`)).toBe("2-3");
  expect(read(`${own}/cpu.weight`)).toBe("10");
  expect(read(`${own}/memory.high`)).toBe(String(2 ** 30));
  expect(guard.take(process.pid)).toBeUndefined();
  expect(existsSync(`${root}/${own}/cgroup.procs`)).toBe(true);
});

test("version 1: a cgroup in each hierarchy that is needed, and in no other", () => {
  const root = cgroups(1);
  openHostGuard({ cpus: "2-3", weight: 10 }, root);
  const read = (file: string) => readFileSync(`${root}/${file}`, "utf8");
  expect(read("cpuset/cotenant-best-effort/cpuset.mems")).toBe("0-1");
  expect(read("cpu/cotenant-best-effort/cpu.shares")).toBe("102");
  expect(existsSync(`${root}/memory/cotenant-best-effort`)).toBe(false);
});

test("the processes that a job has started move with it", async () => {
  const root = cgroups(2);
  const guard = openHostGuard({ weight: 10 }, root);
  const parent = spawn("sh", ["-c", "sleep 1000 & echo $!; wait"]);
  onTestFinished(() => void parent.kill());
  const child = await new Promise<string>((resolve) =>
    parent.stdout.once("data", (text) => resolve(String(text).trim())),
  );
  onTestFinished(() => void process.kill(Number(child)));
  guard.take(parent.pid ?? 0);
  // Each write to the kernel's file moves one process; here the last one stays.
  expect(readFileSync(`${root}/cotenant-best-effort/cgroup.procs`, "utf8")).toBe(child);
});

test("where no cgroup can be made the error says so", () => {
  expect(() => openHostGuard(all, "/proc/cotenant-nowhere")).toThrow(
    "The agent can't make a cgroup for best-effort jobs in /proc/cotenant-nowhere: no such file or directory.",
  );
});

test("limits are read, and wrong ones refused", () => {
  expect(parseHostLimits([])).toBeUndefined();
  expect(parseHostLimits(["cpus=0-3,8", "weight=5", "memory=1GiB"])).toEqual({
    cpus: "0-3,8",
    weight: 5,
    memory: 2 ** 30,
  });
  for (const wrong of ["cpus=a", "cpus=1-", "weight=0", "weight=10001", "nice=3", "cpus"])
    expect(() => parseHostLimits([wrong])).toThrow(`--host-guard ${wrong}: not one of cpus=LIST`);
});

test("CPUs that the machine has not are refused with those that it has", () => {
  const check = (cpus: string) => () => checkCpus({ cpus }, "0-3,8");
  for (const there of ["0", "3,8", "0-3", "1-2,8"]) expect(check(there)).not.toThrow();
  for (const missing of ["4", "3-8", "0,99", "0-99999999999"])
    expect(check(missing)).toThrow(`--host-guard cpus=${missing}: not all of them are there.`);
  expect(check("4")).toThrow(expect.objectContaining({ hint: "This machine has 0-3,8." }));
  expect(() => checkCpus({ weight: 5 }, "0")).not.toThrow();
});
