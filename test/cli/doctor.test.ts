// `cotenant doctor` in shells and on machines where something is wrong.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { softGpuFolder } from "#core";
import type { Finding } from "#doctor";
import { cotenantItself, emptyMachine } from "../e2e/machine.ts";

function temporary(): string {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-doctor-`);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** `before`: words in front of the command. */
async function doctor(env: Record<string, string> = {}, before: readonly string[] = []) {
  const machine = emptyMachine({ LD_LIBRARY_PATH: "/nonexistent", ...env });
  return await examine(machine, before);
}

async function examine(machine: ReturnType<typeof emptyMachine>, before: readonly string[] = []) {
  const words = [...before, ...cotenantItself, "doctor", "--json"];
  const { status, stdout, stderr } = await machine.elsewhere(words).ended;
  expect(stderr).toBe("");
  const { failed, findings } = JSON.parse(stdout) as { failed: number; findings: Finding[] };
  expect(status).toBe(failed > 0 ? 1 : 0);
  return (check: string) => findings.filter((one) => one.check === check);
}

const one = (verdict: string, says: string) => [
  expect.objectContaining({ verdict, says: expect.stringContaining(says) }),
];

test("a machine without a GPU: the library is tried on the software GPU, and what can't be tried is said", async () => {
  const { status, stdout } = await emptyMachine({ LD_LIBRARY_PATH: "" }).cotenant(["doctor"]);
  expect(stdout).toMatch(/^PASS {2}library .*libcotenant\.so is loaded into programs\.$/m);
  expect(stdout).toMatch(/^PASS {2}hooks .* seen by the library\.$/m);
  expect(stdout).toMatch(/^(SKIP|PASS|WARN) {2}MIG /m);
  expect(stdout).toMatch(
    /^WARN {2}agent +No agent is running in .*\n {22}Start one: "cotenant up"\./m,
  );
  expect(status).toBe(0);
});

test("a library that the loader can't use", async () => {
  const library = `${temporary()}/libcotenant.so`;
  writeFileSync(library, "");
  const found = await doctor({ COTENANT_LIB: library });
  expect(found("library")).toEqual(one("fail", "file too short"));
});

test("a library that is loaded and hooks nothing", async () => {
  const found = await doctor({ COTENANT_LIB: "build/native/libcotenant-gate.so" });
  expect(found("library")).toEqual(one("pass", "libcotenant-gate.so"));
  expect(found("hooks")).toEqual(one("fail", "the library has not seen it"));
});

test("a limit of locked memory that is too low", async () => {
  const found = await doctor({}, ["prlimit", "--memlock=65536:65536"]);
  expect(found("locked memory")).toEqual(one("fail", "65536 bytes"));
});

const unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
const mayUnshare = spawnSync("unshare", [...unshare.slice(1), "true"]).status === 0;
if (!mayUnshare) console.error("SKIPPED: a PID namespace, because unshare is not allowed.");

test.skipIf(!mayUnshare)("a PID namespace of its own", async () => {
  const found = await doctor({}, unshare);
  expect(found("PID namespace")).toEqual(one("warn", "namespace of its own"));
});

test("a run directory that others can enter, and one that can't be made", async () => {
  const open = emptyMachine();
  chmodSync(open.directory, 0o755);
  expect((await examine(open))("run directory")).toEqual(one("fail", "can be entered by others"));
  const nowhere = await doctor({}, ["env", "COTENANT_DIR=/proc/cotenant"]);
  expect(nowhere("run directory")).toEqual(one("fail", "can't be made"));
  const long = await doctor({}, ["env", `COTENANT_DIR=/tmp/${"x".repeat(120)}`]);
  expect(long("run directory")).toEqual(one("fail", "longer than the 107 bytes"));
});

test("the run directory of an agent for all users, which others may enter", async () => {
  const machine = emptyMachine({ LD_LIBRARY_PATH: "" });
  await machine.up("--system");
  const found = await examine(machine);
  expect(found("run directory")).toEqual(one("pass", "that of an agent for all users"));
  expect(found("agent")).toEqual(one("pass", "answers: mode isolated"));
});

test("an agent that answers, and one of another version", async () => {
  const machine = emptyMachine({ LD_LIBRARY_PATH: "" });
  await machine.up();
  expect((await examine(machine))("agent")).toEqual(one("pass", "answers: mode isolated"));
  const file = `${machine.directory}/agent.json`;
  const notes = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...notes, version: "0.0.1" }));
  expect((await examine(machine))("agent")).toEqual(one("fail", "is of version 0.0.1"));
});

test("an MPS daemon that somebody else has started, and one that nobody has waited for", async () => {
  const program = `${temporary()}/nvidia-cuda-mps-control`;
  copyFileSync("/bin/sleep", program);
  chmodSync(program, 0o755);
  // Its parent never waits for it.
  const parent = spawn("sh", ["-c", '"$0" 1000 & echo $!; exec sleep 1000', program], {
    env: { PATH: process.env.PATH },
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [line] = await once(createInterface(parent.stdout), "line");
  expect((await doctor())("other MPS")).toEqual(one("warn", "that Cotenant has not started runs"));
  process.kill(Number(line), "SIGKILL");
  expect((await doctor())("other MPS")).toEqual(one("pass", "No other MPS daemon runs"));
});

/** NVML with one GPU. CUDA is the software GPU's. */
const nvml = `
#include <string.h>
typedef unsigned int u32;
extern "C" {
int nvmlInit_v2() { return 0; }
const char* nvmlErrorString(int) { return ""; }
int nvmlSystemGetDriverVersion(char* out, u32) { strcpy(out, "570.86.10"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int* out) { *out = 12080; return 0; }
int nvmlDeviceGetCount_v2(u32* count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(u32, void** device) { *device = device; return 0; }
int nvmlDeviceGetHandleByUUID(const char*, void**) { return 6; }
int nvmlDeviceGetUUID(void*, char* out, u32) { strcpy(out, "GPU-00"); return 0; }
int nvmlDeviceGetName(void*, char* out, u32) { strcpy(out, "NVIDIA H200"); return 0; }
int nvmlDeviceGetMemoryInfo(void*, void*) { return 3; }
int nvmlDeviceGetUtilizationRates(void*, void*) { return 3; }
int nvmlDeviceGetClockInfo(void*, int, u32* out) { *out = 345; return 0; }
int nvmlDeviceGetPowerUsage(void*, void*) { return 3; }
int nvmlDeviceGetComputeRunningProcesses_v3(void*, void*, void*) { return 3; }
int nvmlDeviceGetMigMode(void*, u32* now, u32*) { *now = 1; return 0; }
int nvmlDeviceGetComputeMode(void*, int* out) { *out = 2; return 0; }
int nvmlDeviceGetPersistenceMode(void*, int* out) { *out = 0; return 0; }
}`;

function driverFolder(): string {
  const folder = temporary();
  const args = ["-shared", "-fPIC", "-x", "c++", "-", "-o", `${folder}/libnvidia-ml.so.1`];
  expect(spawnSync("g++", args, { input: nvml }).status).toBe(0);
  return folder;
}

test("a GPU that is not set up for sharing, with a driver that is untested", async () => {
  const memory = `${temporary()}/softgpu`;
  mkdirSync(memory);
  const programs = temporary();
  writeFileSync(`${programs}/nvidia-cuda-mps-control`, "#!/bin/sh\necho no >&2\nexit 1\n", {
    mode: 0o755,
  });
  const found = await doctor({
    PATH: `${programs}:${process.env.PATH}`,
    LD_LIBRARY_PATH: `${driverFolder()}:${softGpuFolder()}`,
    COTENANT_SOFTGPU_DIR: memory,
  });
  expect(found("driver")).toEqual(one("pass", "driver 570.86.10 (CUDA 12.8) serves NVIDIA H200."));
  expect(found("tested")).toEqual(one("warn", "NVIDIA H200 with driver 570 is untested"));
  expect(found("MIG")).toEqual(one("warn", "divided by MIG"));
  expect(found("compute mode")).toEqual(one("fail", "lets no process have a context"));
  expect(found("persistence")).toEqual(one("warn", "Persistence mode is off"));
  expect(found("hooks")).toEqual(one("pass", "the NVIDIA GPU"));
  expect(found("MPS")).toEqual(
    one("warn", "NVIDIA MPS could not be started: no. Mode mps can't be used."),
  );
});

test("a driver without libcuda", async () => {
  const found = await doctor({ LD_LIBRARY_PATH: driverFolder() });
  expect(found("hooks")).toEqual(one("fail", "libcuda.so.1 was not found"));
});
