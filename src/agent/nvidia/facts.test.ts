// The binding against a small libnvidia-ml that the test builds.
import { expect, test } from "vitest";
import { driverFacts } from "./facts.ts";
import { fakeLibrary } from "./fake-library.ts";

/** The functions that every driver has. `more`: functions that only some have. */
const stub = (more: string, status = 0) => `
#include <string.h>
typedef unsigned int u32;
typedef unsigned long long u64;
static int devices[2] = {0, 1};
extern "C" {
int nvmlInit_v2() { return ${status}; }
const char* nvmlErrorString(int) { return "Driver/library version mismatch"; }
int nvmlSystemGetDriverVersion(char* out, u32) { strcpy(out, "580.95.05"); return 0; }
int nvmlDeviceGetCount_v2(u32* count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(u32 index, void** device) { *device = &devices[index]; return 0; }
int nvmlDeviceGetHandleByUUID(const char*, void**) { return 6; }
int nvmlDeviceGetUUID(int* device, char* out, u32) { strcpy(out, *device ? "GPU-11" : "GPU-00"); return 0; }
int nvmlDeviceGetName(int*, char* out, u32) { strcpy(out, "NVIDIA H200"); return 0; }
int nvmlDeviceGetMemoryInfo(int*, u64*) { return 3; }
int nvmlDeviceGetUtilizationRates(int*, u32*) { return 3; }
int nvmlDeviceGetClockInfo(int*, int type, u32* out) { *out = type == 1 ? 345 : 0; return 0; }
int nvmlDeviceGetPowerUsage(int*, u32*) { return 3; }
int nvmlDeviceGetComputeRunningProcesses_v3(int*, u32*, void*) { return 3; }
${more}
}`;

const everything = `
int nvmlSystemGetCudaDriverVersion_v2(int* out) { *out = 12040; return 0; }
int nvmlDeviceGetMigMode(int* device, u32* current, u32* pending) {
  if (*device) return 3;
  *current = 1; *pending = 0; return 0; }
int nvmlDeviceGetVirtualizationMode(int* device, int* out) { *out = *device ? 2 : 1; return 0; }
int nvmlDeviceGetComputeMode(int* device, int* out) { *out = *device ? 0 : 3; return 0; }
int nvmlDeviceGetPersistenceMode(int* device, int* out) { *out = *device; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(int* device, u64* out) { *out = *device ? 1 : 0x24; return 0; }
int nvmlDeviceGetMaxClockInfo(int*, int type, u32* out) { *out = type == 1 ? 1980 : 0; return 0; }`;

test("each GPU's facts are read from the driver", () => {
  expect(driverFacts(fakeLibrary("libnvidia-ml.so.1", stub(everything)))).toEqual({
    version: "580.95.05",
    cuda: "12.4",
    gpus: [
      {
        name: "NVIDIA H200",
        uuid: "GPU-00",
        divided: true,
        virtual: false,
        contexts: "one",
        persistent: false,
        smClockMHz: 345,
        mostSmClockMHz: 1980,
        slowedBy: ["the power limit", "heat"],
      },
      {
        name: "NVIDIA H200",
        uuid: "GPU-11",
        divided: undefined,
        virtual: true,
        contexts: "several",
        persistent: true,
        smClockMHz: 345,
        mostSmClockMHz: 1980,
        slowedBy: [],
      },
    ],
  });
});

test("a fact is unknown if the driver is too old to have its function", () => {
  const facts = driverFacts(fakeLibrary("libnvidia-ml.so.1", stub("")));
  expect(facts).toMatchObject({
    cuda: undefined,
    gpus: [{ divided: undefined, contexts: undefined, persistent: undefined, slowedBy: [] }, {}],
  });
});

test("a driver that does not answer says why, and one that is missing is undefined", () => {
  expect(driverFacts(fakeLibrary("libnvidia-ml.so.1", stub("", 18)))).toBe(
    "Driver/library version mismatch",
  );
  expect(driverFacts("/nonexistent/libnvidia-ml.so.1")).toBe(undefined);
});
