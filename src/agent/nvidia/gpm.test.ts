// The binding against a small libnvidia-ml that the test builds, with the structs of nvml.h.
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import koffi from "koffi";
import { expect, test } from "vitest";
import { fakeLibrary } from "./fake-library.ts";
import { type GpuChoice, openGpm } from "./gpm.ts";

// GPU 0 has all counters, GPU 1 lacks that of the memory, GPU 2 has none, and GPU 3 is lost once it has been opened.
const source = `
#include <string.h>
typedef unsigned int u32;
typedef struct { u32 taken; }* nvmlGpmSample_t;
typedef struct {
  u32 metricId;
  int nvmlReturn;
  double value;
  struct { char* shortName; char* longName; char* unit; } metricInfo;
} nvmlGpmMetric_t;
typedef struct {
  u32 version, numMetrics;
  nvmlGpmSample_t sample1, sample2;
  nvmlGpmMetric_t metrics[333];
} nvmlGpmMetricsGet_t;
static int devices[] = {0, 1, 2, 3};
static const char* uuids[] = {"GPU-00", "GPU-11", "GPU-22", "GPU-33"};
static u32 taken = 0, freed = 0;
extern "C" {
int nvmlInit_v2() { return 0; }
const char* nvmlErrorString(int) { return ""; }
int nvmlSystemGetDriverVersion(char*, u32) { return 0; }
int nvmlDeviceGetCount_v2(u32* count) { *count = 4; return 0; }
int nvmlDeviceGetHandleByIndex_v2(u32 index, void** device) {
  if (index > 3) return 2;
  *device = &devices[index]; return 0; }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  for (int i = 0; i < 4; ++i) if (!strcmp(uuid, uuids[i])) { *device = &devices[i]; return 0; }
  return 6; }
#define NOT_ASKED(name) int name() { return 3; }
NOT_ASKED(nvmlDeviceGetUUID) NOT_ASKED(nvmlDeviceGetName) NOT_ASKED(nvmlDeviceGetMemoryInfo)
NOT_ASKED(nvmlDeviceGetUtilizationRates) NOT_ASKED(nvmlDeviceGetClockInfo)
NOT_ASKED(nvmlDeviceGetPowerUsage) NOT_ASKED(nvmlDeviceGetComputeRunningProcesses_v3)
#ifdef GPM
int nvmlGpmQueryDeviceSupport(int* device, u32* support) {
  if (support[0] != 1) return 25;
  support[1] = *device != 2; return 0; }
int nvmlGpmSampleAlloc(nvmlGpmSample_t* out) { *out = (nvmlGpmSample_t)new u32(0); return 0; }
int nvmlGpmSampleFree(nvmlGpmSample_t sample) { delete (u32*)sample; ++freed; return 0; }
int nvmlGpmSampleGet(int* device, nvmlGpmSample_t sample) {
  sample->taken = ++taken * 10 + *device; return *device == 3 ? 15 : 0; }
int nvmlGpmMetricsGet(nvmlGpmMetricsGet_t* get) {
  if (get->version != 1) return 25;
  if (get->sample1->taken >= get->sample2->taken) return 2;
  memset(get->metrics + get->numMetrics, 0xff, (333 - get->numMetrics) * sizeof *get->metrics);
  for (u32 i = 0; i < get->numMetrics; ++i) {
    nvmlGpmMetric_t& m = get->metrics[i];
    m.value = m.metricId == 2 ? 62.5 : m.metricId == 3 ? 12.5 : m.metricId == 10 ? 40.0 : m.metricId == 21 ? 545.5 : 99.0;
    m.nvmlReturn = m.metricId == 10 && get->sample1->taken % 10 == 1 ? 3 : 0;
  }
  return 0; }
int frees() { return freed; }
#endif
}`;

const library = () => fakeLibrary("libnvidia-ml.so.1", `#define GPM\n${source}`);
const unknown = {
  smActivity: undefined,
  smOccupancy: undefined,
  dramActivity: undefined,
  pcieInMiBs: undefined,
};

function figures(gpu: GpuChoice, name: string) {
  const gpm = openGpm(gpu, name);
  const first = gpm.sample();
  return gpm.between(first, gpm.sample());
}

test("figures are fractions, or MiB/s, of the GPU chosen by index or by UUID", () => {
  const name = library();
  const all = { smActivity: 0.625, smOccupancy: 0.125, dramActivity: 0.4, pcieInMiBs: 545.5 };
  expect(figures({ index: 0 }, name)).toEqual(all);
  expect(figures({ uuid: "GPU-00" }, name)).toEqual(all);
  expect(figures({ uuid: "GPU-11" }, name)).toEqual({ ...all, dramActivity: undefined });
});

test.each([
  { why: "a GPU without counters", gpu: { index: 2 } },
  { why: "a GPU that is lost", gpu: { index: 3 } },
  { why: "a GPU that is not there", gpu: { index: 4 } },
  { why: "a UUID that nobody has", gpu: { uuid: "GPU-44" } },
])("$why is unknown, not idle", ({ gpu }) => {
  expect(figures(gpu, library())).toEqual(unknown);
});

test("a driver from before GPM, and no driver, leave all figures unknown", () => {
  expect(figures({ index: 0 }, fakeLibrary("libnvidia-ml.so.1", source))).toEqual(unknown);
  expect(figures({ index: 0 }, "libnvidia-ml-that-is-not.so.1")).toEqual(unknown);
});

test("samples in the wrong order, or the same sample twice, give no figures", () => {
  const gpm = openGpm({ index: 0 }, library());
  const [first, second] = [gpm.sample(), gpm.sample()];
  expect(gpm.between(second, first)).toEqual(unknown);
  expect(gpm.between(first, first)).toEqual(unknown);
});

test("the driver's buffers are freed with the samples", async () => {
  const name = library();
  const frees = koffi.load(name).func("int frees()");
  const gpm = openGpm({ index: 0 }, name);
  const kept = gpm.sample();
  for (let i = 0; i < 100; i++) gpm.sample();
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  for (let tries = 0; tries < 100 && frees() === 0; tries++) {
    collect();
    await setTimeout(10);
  }
  expect(frees()).toBeGreaterThan(0);
  expect(gpm.between(kept, gpm.sample()).smActivity).toBe(0.625);
});
