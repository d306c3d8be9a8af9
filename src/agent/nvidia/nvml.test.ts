// The binding against a small libnvidia-ml that the test builds: the names of the functions, their arguments, and the
// places of the numbers in the structs.

import { expect, test } from "vitest";
import { nanos } from "#core";
import { fakeLibrary } from "./fake-library.ts";
import { driverVersion } from "./library.ts";
import { openNvml } from "./nvml.ts";

const stub = (status: number, count: number) => `
#include <string.h>
typedef unsigned int u32;
typedef unsigned long long u64;
struct Sample { u32 pid; u64 at; u32 sm, memory, encoder, decoder; };
static int asked;
struct Process { u32 pid; u64 used; u32 gpu, compute; };
static int devices[3] = {0, 1, 2};
extern "C" {
int nvmlInit_v2() { return ${status}; }
const char* nvmlErrorString(int status) { return status == 15 ? "GPU is lost" : "Driver Not Loaded"; }
int nvmlSystemGetDriverVersion(char* out, u32 size) {
  if (size < 80) return 7;
  strcpy(out, "580.95.05"); return 0; }
int nvmlDeviceGetCount_v2(u32* count) { *count = ${count}; return 0; }
int nvmlDeviceGetHandleByIndex_v2(u32 index, void** device) { *device = &devices[index]; return 0; }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (!strcmp(uuid, "GPU-15")) return 15;
  if (strcmp(uuid, "GPU-11") && strcmp(uuid, "MIG-22")) return 6;
  *device = &devices[1]; return 0; }
int nvmlDeviceGetUUID(int* device, char* out, u32) {
  strcpy(out, *device == 2 ? "GPU-22" : *device ? "GPU-11" : "GPU-00"); return 0; }
int nvmlDeviceGetName(int*, char* out, u32) { strcpy(out, "NVIDIA H200"); return 0; }
int nvmlDeviceGetMemoryInfo(int* device, u64* out) {
  if (*device == 2) return 15;
  out[0] = 150754820096; out[1] = 150000000000; out[2] = 754820096; return 0; }
int nvmlDeviceGetUtilizationRates(int* device, u32* out) {
  if (*device == 2) return 15;
  out[0] = 37; out[1] = 5; return 0; }
int nvmlDeviceGetClockInfo(int*, int type, u32* out) { *out = type == 1 ? 1980 : 0; return 0; }
int nvmlDeviceGetPowerUsage(int* device, u32* out) { *out = 117400; return *device ? 3 : 0; }
int nvmlDeviceGetProcessUtilization(int* device, Sample* out, u32* count, u64 since) {
  if (*device) return 3;
  if (*count < 2) return 7;
  if (since == 900) return 6;
  *count = 2;
  out[0] = {4321, since ? 900ull : 500ull, 40, 99, 99, 99};
  out[1] = {4322, since ? 700ull : 300ull, asked++ ? 20u : 99u, 99, 99, 99};
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(int* device, u32* count, Process* out) {
  if (*device) { *count = 0; return 0; }
  if (*count < 2) return 7;
  *count = 2;
  out[0] = {4321, 1048576, 0xffffffff, 0xffffffff};
  out[1] = {4322, ~0ull, 0xffffffff, 0xffffffff};
  return 0;
}
int nvmlDeviceGetMPSComputeRunningProcesses_v3(int* device, u32* count, Process* out) {
  if (*device) return 3;
  *count = 1;
  out[0] = {4323, 2097152, 0xffffffff, 0xffffffff};
  return 0;
}
}`;

const library = (status: number, count: number) =>
  fakeLibrary("libnvidia-ml.so.1", stub(status, count));

test("every GPU is read; a value that it does not support is unknown", () => {
  const [first, second] = openNvml(library(0, 2)).read();
  expect(first).toEqual({
    uuid: "GPU-00",
    name: "NVIDIA H200",
    error: undefined,
    memoryTotal: 150_754_820_096,
    memoryUsed: 754_820_096,
    utilisation: 0.37,
    memoryUtilisation: 0.05,
    smClockMHz: 1980,
    powerW: 117.4,
    processes: [
      { pid: 4321, memory: 1_048_576 },
      { pid: 4322, memory: undefined },
    ],
    mpsProcesses: [{ pid: 4323, memory: 2_097_152 }],
  });
  expect(second).toMatchObject({
    uuid: "GPU-11",
    powerW: undefined,
    processes: [],
    mpsProcesses: [],
  });
});

test("the memory of a lost GPU is unknown, not 0", () => {
  expect(openNvml(library(0, 3)).read()[2]).toMatchObject({
    uuid: "GPU-22",
    name: "NVIDIA H200",
    error: "GPU is lost",
    memoryTotal: undefined,
    memoryUsed: undefined,
    utilisation: undefined,
    memoryUtilisation: undefined,
  });
});

test("what processes use is the sum of the samples since the last sample, and unknown without samples", () => {
  let now = 0;
  const sensor = openNvml(library(0, 2), () => nanos(now));
  const useAt = (at: number) => {
    now = at;
    return sensor.use("GPU-00");
  };
  const first = new Map([
    [4321, 0],
    [4322, 0],
  ]);
  const second = new Map([
    [4321, 400],
    [4322, 200],
  ]);
  expect(useAt(1000)).toEqual(first);
  expect(useAt(2000)).toEqual(second);
  expect(useAt(3000)).toEqual(second);
  expect([sensor.use("GPU-11"), sensor.use("GPU-other")]).toEqual([undefined, undefined]);
});

test("a GPU or a part of one is known by its UUID, another UUID is not, and a lost GPU can't be judged", () => {
  const sensor = openNvml(library(0, 2));
  const known = ["GPU-11", "GPU-22", "GPU-33", "GPU-15"].map((uuid) => sensor.knows(uuid));
  expect(known).toEqual([true, true, false, undefined]);
});

test("the driver's version is read; without a driver it is unknown", () => {
  expect(driverVersion(library(0, 2))).toBe("580.95.05");
  expect(driverVersion(library(9, 0))).toBe(undefined);
  expect(driverVersion("libnvidia-ml-that-is-not.so.1")).toBe(undefined);
});

test("a driver whose kernel part is not loaded is reported in NVML's words", () => {
  expect(() => openNvml(library(9, 0))).toThrow(
    'There is no NVIDIA GPU to serve here: the NVIDIA driver says "Driver Not Loaded".',
  );
});

test("a driver without a GPU, and no driver at all, give different errors", () => {
  expect(() => openNvml(library(0, 0))).toThrow("the NVIDIA driver knows of none");
  expect(() => openNvml("libnvidia-ml-that-is-not.so.1")).toThrow(
    "libnvidia-ml-that-is-not.so.1 is not installed",
  );
});
