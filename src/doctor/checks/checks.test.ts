// Checks of what lies in files, which stand in a folder of the test in place of "/".
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Surroundings } from "../facts/surroundings.ts";
import {
  checkPreloads,
  checkReplicas,
  checkSwitch,
  checkTools,
  toolVariables,
} from "./environment.ts";
import {
  checkClocks,
  checkCombination,
  checkContexts,
  checkDivision,
  checkDriver,
  checkPersistence,
} from "./gpu.ts";
import { checkOtherMps } from "./mps.ts";
import { checkLockedMemory } from "./process.ts";

const roots: string[] = [];
afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true });
});

function around(
  files: Readonly<Record<string, string>>,
  more: Partial<Surroundings> = {},
): Surroundings {
  const root = mkdtempSync(`${tmpdir()}/cotenant-doctor-`);
  roots.push(root);
  for (const [path, text] of Object.entries({ "/proc/1/comm": "init\n", ...files })) {
    mkdirSync(dirname(`${root}${path}`), { recursive: true });
    writeFileSync(`${root}${path}`, text);
  }
  return { root, env: {}, uid: 1000, itself: [], driver: undefined, ...more };
}

const gpu = {
  name: "NVIDIA H200",
  uuid: "GPU-00",
  divided: false,
  virtual: false,
  contexts: "several",
  persistent: true,
  smClockMHz: 1980,
  mostSmClockMHz: 1980,
  slowedBy: [],
} as const;

const withGpu = (changed: Partial<Extract<Surroundings["driver"], object>["gpus"][number]>) =>
  around({}, { driver: { version: "580.95.05", cuda: "13.0", gpus: [{ ...gpu, ...changed }] } });

const card = {
  "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
  "/sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n",
};

test.each([
  { what: "no driver and no card", place: around({}), is: "warn", says: "no NVIDIA GPU" },
  { what: "a card without a driver", place: around(card), is: "fail", says: "PCI 0000:01:00.0" },
  {
    what: "a driver that does not answer",
    place: around(card, { driver: "Driver/library version mismatch" }),
    is: "fail",
    says: 'says "Driver/library version mismatch"',
  },
  {
    what: "a driver without a GPU",
    place: around(card, { driver: { version: "580.1", cuda: "13.0", gpus: [] } }),
    is: "fail",
    says: "serves no GPU",
  },
  { what: "a driver and a GPU", place: withGpu({}), is: "pass", says: "580.95.05 (CUDA 13.0)" },
])("$what: $is", ({ place, is, says }) => {
  const found = checkDriver(place);
  expect(found).toMatchObject({ verdict: is, says: expect.stringContaining(says) });
  expect(found.cure !== "").toBe(is !== "pass");
});

test.each([
  { check: checkCombination, change: {}, is: "pass" },
  { check: checkCombination, change: { name: "NVIDIA A100" }, is: "warn" },
  { check: checkDivision, change: {}, is: "pass" },
  { check: checkDivision, change: { divided: true }, is: "warn" },
  { check: checkDivision, change: { virtual: true }, is: "warn" },
  { check: checkContexts, change: {}, is: "pass" },
  { check: checkContexts, change: { contexts: "one" as const }, is: "warn" },
  { check: checkContexts, change: { contexts: "none" as const }, is: "fail" },
  { check: checkPersistence, change: {}, is: "pass" },
  { check: checkPersistence, change: { persistent: false }, is: "warn" },
  { check: checkClocks, change: {}, is: "pass" },
  { check: checkClocks, change: { slowedBy: ["heat"] }, is: "warn" },
])(
  "$check.name finds $is with $change, and skips where there is no GPU",
  ({ check, change, is }) => {
    expect(check(withGpu(change)).map(({ verdict }) => verdict)).toEqual([is]);
    expect(check(around({})).map(({ verdict }) => verdict)).toEqual(["skip"]);
  },
);

test.each([
  { files: {}, env: {}, is: ["pass"] },
  { files: {}, env: { LD_PRELOAD: "/opt/libcotenant.so" }, is: ["pass"] },
  { files: {}, env: { LD_PRELOAD: "/opt/libcotenant.so:/usr/lib/libjemalloc.so.2" }, is: ["warn"] },
  { files: {}, env: { LD_PRELOAD: "/usr/local/vgpu/libvgpu.so" }, is: ["fail"] },
  { files: { "/etc/ld.so.preload": "/usr/local/vgpu/libvgpu.so\n" }, env: {}, is: ["fail"] },
  { files: { "/etc/ld.so.preload": "# libvgpu.so\n" }, env: {}, is: ["pass"] },
  { files: {}, env: { CUDA_DEVICE_MEMORY_LIMIT_0: "4g" }, is: ["fail"] },
])("preloads of $files and $env: $is", ({ files, env, is }) => {
  expect(checkPreloads(around(files, { env })).map(({ verdict }) => verdict)).toEqual(is);
});

test.each([
  { env: {}, is: ["pass"] },
  { env: { CUDA_INJECTION64_PATH: "/opt/libcupti_tool.so" }, is: ["warn"] },
  { env: { NV_TPS_LAUNCH_UUID: "1" }, is: ["warn"] },
])("tools of $env: $is", ({ env, is }) => {
  expect(checkTools(around({}, { env })).map(({ verdict }) => verdict)).toEqual(is);
});

test("the variables of tools are those that the interposer heeds", () => {
  const source = readFileSync("native/interposer/process/environment.cpp", "utf8");
  const list = source.slice(source.indexOf("kTools[] = {"), source.indexOf("};"));
  const heeded = [...list.matchAll(/"(\w+)"/g)].map(([, name]) => name);
  expect(heeded).toEqual(Object.keys(toolVariables));
});

test.each([
  { env: {}, is: "pass" },
  { env: { NVIDIA_VISIBLE_DEVICES: "GPU-1::3" }, is: "warn" },
  { env: { NVIDIA_VISIBLE_DEVICES: "GPU-1", KUBERNETES_SERVICE_HOST: "10.0.0.1" }, is: "skip" },
])("copies of a GPU with $env: $is", ({ env, is }) => {
  expect(checkReplicas(around({}, { env })).verdict).toBe(is);
});

test.each([
  { env: {}, is: "pass" },
  { env: { COTENANT_OFF: "0" }, is: "pass" },
  { env: { COTENANT_OFF: "1" }, is: "warn" },
])("switched off by $env: $is", ({ env, is }) => {
  expect(checkSwitch(around({}, { env })).verdict).toBe(is);
});

const own = "CUDA_MPS_PIPE_DIRECTORY=/tmp/cotenant-1000/mps";

test.each([
  { what: "none", files: {}, env: {}, is: "pass" },
  { what: "Cotenant's own", files: { "/proc/7/environ": `A=1\0${own}\0` }, env: {}, is: "pass" },
  { what: "of a user", files: { "/proc/7/environ": "A=1\0" }, env: {}, is: "warn" },
  { what: "of another user", files: {}, daemon: true, env: {}, is: "warn" },
  { what: "named", files: {}, env: { CUDA_MPS_PIPE_DIRECTORY: "/tmp/nvidia-mps" }, is: "warn" },
])("an MPS daemon: $what: $is", ({ files, env, is, daemon }) => {
  const runs = daemon || Object.keys(files).length > 0;
  const process = runs ? { "/proc/7/comm": "nvidia-cuda-mps\n" } : {};
  expect(checkOtherMps(around({ ...process, ...files }, { env })).verdict).toBe(is);
});

test.each([
  { limit: "unlimited", is: "pass" },
  { limit: "8388608", is: "pass" },
  { limit: "65536", is: "fail" },
])("$limit bytes of locked memory: $is", ({ limit, is }) => {
  const limits = `Limit                     Soft Limit           Hard Limit           Units\nMax locked memory         ${limit}              8388608              bytes\n`;
  expect(checkLockedMemory(around({ "/proc/self/limits": limits })).verdict).toBe(is);
});
