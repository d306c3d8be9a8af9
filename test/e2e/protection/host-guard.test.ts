// The host guard with the kernel's own cgroups.
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openHostGuard } from "#agent";
import { emptyMachine, eventually, startMachine } from "../machine.ts";

const roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu"];
const writable = roots.some((root) => {
  try {
    accessSync(`${root}/cgroup.procs`, constants.W_OK);
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
});
const weightFile = [
  "/sys/fs/cgroup/cotenant-best-effort/cpu.weight",
  "/sys/fs/cgroup/cpu/cotenant-best-effort/cpu.shares",
];

test.runIf(writable)(
  "a best-effort client runs in the cgroup and a high one does not",
  async () => {
    const machine = await startMachine({}, "--host-guard", "weight=10");
    const inGuard = ({ pid }: { readonly pid: number }) =>
      readFileSync(`/proc/${pid}/cgroup`, "utf8").includes("/cotenant-best-effort");
    const service = machine.load("high", ["--rate", "20", "--seconds", "3600"]);
    await service.serving;
    const train = machine.load("best-effort", ["--arrivals", "closed", "--seconds", "3600"]);
    await train.serving;
    await eventually("it is moved", () => inGuard(train));
    expect(inGuard(service)).toBe(false);
    const [weight] = weightFile.filter((path) => existsSync(path));
    expect(["10", "102"]).toContain(weight && readFileSync(weight, "utf8").trim());
    await service.finish();
    await train.finish();
    await machine.cotenant(["down"]);
    await eventually("the cgroup is gone", () => weightFile.every((path) => !existsSync(path)));
  },
);

const left = () =>
  ["", "cpuset/"]
    .map((part) => `/sys/fs/cgroup/${part}cotenant-best-effort`)
    .filter((path) => existsSync(path));

test("CPUs that the machine has not end the start with a sentence, and leave no cgroup", async () => {
  const machine = emptyMachine();
  const { status, stderr } = await machine.cotenant([
    ...["up", "--gpu", "soft", "--host-guard", "cpus=99999"],
  ]);
  expect(status).toBe(2);
  expect(stderr).toContain("--host-guard cpus=99999: not all of them are there.");
  expect(left()).toEqual([]);
});

test("a limit that the kernel does not take is a sentence, and leaves no cgroup", () => {
  expect(() => openHostGuard({ cpus: "99999" })).toThrow(
    "The agent can't make a cgroup for best-effort jobs",
  );
  expect(left()).toEqual([]);
});
