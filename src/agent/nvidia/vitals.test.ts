// The binding against a small libnvidia-ml that the test builds: the names of the functions, their arguments, and the
// places of the numbers in the structs.
import { expect, test } from "vitest";
import { fakeLibrary } from "./fake-library.ts";
import { openNvml } from "./nvml.ts";

/** `more`: functions that only some drivers have. `memoryStatus`: what it says when it is asked for memory. */
const stub = (more: string, memoryStatus = 0) => `
#include <string.h>
typedef unsigned int u32;
typedef unsigned long long u64;
static int device = 7;
extern "C" {
int nvmlInit_v2() { return 0; }
const char* nvmlErrorString(int status) { return status == 15 ? "GPU is lost" : "Not Supported"; }
int nvmlSystemGetDriverVersion(char*, u32) { return 3; }
int nvmlDeviceGetCount_v2(u32* count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(u32, void** out) { *out = &device; return 0; }
int nvmlDeviceGetHandleByUUID(const char*, void**) { return 6; }
int nvmlDeviceGetUUID(void*, char* out, u32) { strcpy(out, "GPU-00"); return 0; }
int nvmlDeviceGetName(void*, char* out, u32) { strcpy(out, "NVIDIA H100"); return 0; }
int nvmlDeviceGetMemoryInfo(void*, u64* out) { out[0] = 80; out[1] = 20; out[2] = 60; return ${memoryStatus}; }
int nvmlDeviceGetUtilizationRates(void*, u32* out) { out[0] = 90; return 0; }
int nvmlDeviceGetClockInfo(void*, int type, u32* out) { *out = type == 1 ? 990 : 0; return 0; }
int nvmlDeviceGetPowerUsage(void*, u32* out) { *out = 350000; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void*, u32*, void*) { return 3; }
${more}
}`;

const everything = `
struct Event { void* device; u64 type, data; u32 instance, compute; };
static int set, asked;
int nvmlDeviceGetMaxClockInfo(void*, int type, u32* out) { *out = type == 1 ? 1980 : 0; return 0; }
int nvmlDeviceGetTemperature(void*, int sensor, u32* out) { *out = 71; return sensor == 0 ? 0 : 2; }
int nvmlDeviceGetTemperatureThreshold(void*, int which, u32* out) { *out = which == 1 ? 89 : 0; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(void*, u32* out) { *out = 700000; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, u64* out) { *out = 0x24; return 0; }
int nvmlDeviceGetTotalEccErrors(void*, int type, int counter, u64* out) {
  *out = 5; return type == 1 && counter == 0 ? 0 : 2; }
int nvmlDeviceGetRemappedRows(void*, u32* corrected, u32* uncorrected, u32* pending, u32* failed) {
  *corrected = 3; *uncorrected = 2; *pending = 1; *failed = FAILED; return 0; }
int nvmlDeviceGetMigMode(void*, u32* now, u32* later) { *now = 1; *later = 0; return 0; }
int nvmlEventSetCreate(void** out) { *out = &set; return 0; }
int nvmlDeviceRegisterEvents(int* one, u64 types, int* into) { return one == &device && types == 8 && into == &set ? 0 : 2; }
int nvmlEventSetWait_v2(int* from, Event* out, u32 timeout) {
  if (from != &set || timeout != 0 || asked >= 3) return 10;
  *out = {&device, asked == 1 ? 1ull : 8ull, asked == 0 ? 31ull : 79ull, 0xffffffff, 0xffffffff};
  asked++;
  return 0; }`;

const vitals = (more: string, memoryStatus = 0) =>
  openNvml(fakeLibrary("libnvidia-ml.so.1", stub(more, memoryStatus))).vitals();

test("what the health of a GPU is judged by is read from the driver", () => {
  const sensor = openNvml(
    fakeLibrary("libnvidia-ml.so.1", stub(everything.replace("FAILED", "0"))),
  );
  expect(sensor.vitals()).toEqual([
    {
      uuid: "GPU-00",
      unusable: undefined,
      divided: true,
      memory: 0.75,
      utilisation: 0.9,
      smActivity: undefined,
      smClockMHz: 990,
      mostSmClockMHz: 1980,
      clocksSet: false,
      throttle: "heat",
      temperatureC: 71,
      slowdownC: 89,
      powerW: 350,
      powerLimitW: 700,
      eccErrors: 5,
      rowsPending: true,
      xids: [31, 79],
    },
  ]);
  expect(sensor.vitals()[0]?.xids).toEqual([]);
});

test("what an older driver does not have is unknown", () => {
  expect(vitals("")).toMatchObject([
    {
      memory: 0.75,
      divided: undefined,
      mostSmClockMHz: undefined,
      clocksSet: undefined,
      throttle: undefined,
      temperatureC: undefined,
      slowdownC: undefined,
      powerLimitW: undefined,
      eccErrors: undefined,
      rowsPending: undefined,
      xids: undefined,
    },
  ]);
});

test("a GPU that is lost, or has a row that could not be remapped, can't be used", () => {
  expect(vitals("", 15)[0]).toMatchObject({
    unusable: 'the driver says "GPU is lost"',
    memory: undefined,
  });
  expect(vitals("", 3)[0]?.unusable).toBe(undefined);
  expect(vitals(everything.replace("FAILED", "1"))[0]?.unusable).toBe(
    "a bad memory row could not be remapped",
  );
});
