// GPM, a part of NVML on Hopper and later, reads the GPU's own counters without a profiler. A
// sample takes 190 us (an H200, driver 580). An unknown figure is undefined and never zero.
import { load, type Nvml, OK } from "./library.ts";

export type GpuChoice = { readonly index: number } | { readonly uuid: string };

export interface Gpm {
  sample(): GpmSample;
  between(earlier: GpmSample, later: GpmSample): GpmFigures;
}

export interface GpmSample {
  /** The driver's buffer is freed when this object is collected. */
  readonly buffer: bigint | undefined;
}

interface GpmFigures {
  readonly smActivity: number | undefined; // a warp is resident in this part of the SMs' time
  readonly smOccupancy: number | undefined; // resident warps are divided by the most that fit
  readonly dramActivity: number | undefined; // the bandwidth is divided by its peak
  /** It counts copies in, and the GPU's own reads of host memory. */
  readonly pcieInMiBs: number | undefined;
}

/** nvmlGpmMetricId_t; the first three are in per cent, the last in MiB/s. */
const SM_UTIL = 2;
const SM_OCCUPANCY = 3;
const DRAM_BW_UTIL = 10;
const PCIE_RX_PER_SEC = 21;

/** nvmlGpmSupport_t has two fields: u32 version, u32 isSupportedDevice. */
const SUPPORT_VERSION = 1;

// nvmlGpmMetricsGet_t holds u32 version, u32 numMetrics, two sample pointers, then the metrics.
// Drivers have room for different numbers of them (98 once, 333 later); this is more.
const GET_VERSION = 1;
const get = { version: 0, numMetrics: 4, earlier: 8, later: 16, metrics: 24 } as const;
const MAX_METRICS = 512;

/** nvmlGpmMetric_t holds u32 metricId, i32 nvmlReturn, f64 value, three names. */
const metric = { id: 0, status: 4, value: 8, size: 40 } as const;

export function openGpm(gpu: GpuChoice, name?: string): Gpm {
  const counters = openCounters(gpu, name);
  const dropped = new FinalizationRegistry<bigint>((buffer) => counters?.free(buffer));
  return {
    sample() {
      const sample = { buffer: counters?.take() };
      if (sample.buffer !== undefined) dropped.register(sample, sample.buffer);
      return sample;
    },
    between({ buffer: earlier }, { buffer: later }) {
      const ids = [SM_UTIL, SM_OCCUPANCY, DRAM_BW_UTIL, PCIE_RX_PER_SEC];
      const known = counters && earlier !== undefined && later !== undefined;
      const read = known ? counters.metrics(ids, earlier, later) : [];
      const [sm, occupancy, dram, pcieInMiBs] = read;
      return {
        smActivity: part(sm),
        smOccupancy: part(occupancy),
        dramActivity: part(dram),
        pcieInMiBs,
      };
    },
  };
}

function openCounters(gpu: GpuChoice, name: string | undefined) {
  const nvml = load(name);
  const calls = nvml?.init() === OK ? bind(nvml) : undefined;
  const device =
    calls && ("index" in gpu ? nvml?.device(gpu.index) : nvml?.byUuid(gpu.uuid).device);
  const support = new Uint32Array([SUPPORT_VERSION, 0]);
  if (!calls || !device || calls.support(device, support) !== OK || !support[1]) return undefined;
  return {
    free: (buffer: bigint) => calls.free(buffer),

    take(): bigint | undefined {
      const out = new BigUint64Array(1);
      const buffer = calls.allocate(out) === OK ? out[0] : undefined;
      if (buffer === undefined || calls.take(device, buffer) === OK) return buffer;
      calls.free(buffer);
      return undefined;
    },

    metrics(ids: readonly number[], earlier: bigint, later: bigint): (number | undefined)[] {
      const raw = new DataView(new ArrayBuffer(get.metrics + MAX_METRICS * metric.size));
      const at = (index: number) => get.metrics + index * metric.size;
      raw.setUint32(get.version, GET_VERSION, true);
      raw.setUint32(get.numMetrics, ids.length, true);
      raw.setBigUint64(get.earlier, earlier, true);
      raw.setBigUint64(get.later, later, true);
      ids.forEach((id, index) => {
        raw.setUint32(at(index) + metric.id, id, true);
      });
      if (calls.metrics(new Uint8Array(raw.buffer)) !== OK) return [];
      return ids.map((_, index) => readMetric(raw, at(index)));
    },
  };
}

const part = (percent: number | undefined) => percent && percent / 100;

function readMetric(raw: DataView, at: number): number | undefined {
  const value = raw.getFloat64(at + metric.value, true);
  const known = raw.getInt32(at + metric.status, true) === OK && Number.isFinite(value);
  return known ? value : undefined;
}

/** Returns undefined if the driver is too old to have these functions. */
function bind({ library }: Nvml) {
  try {
    return {
      support: library.func("int nvmlGpmQueryDeviceSupport(void *, void *)"),
      allocate: library.func("int nvmlGpmSampleAlloc(void *)"),
      free: library.func("int nvmlGpmSampleFree(void *)"),
      take: library.func("int nvmlGpmSampleGet(void *, void *)"),
      metrics: library.func("int nvmlGpmMetricsGet(void *)"),
    };
  } catch {
    return undefined;
  }
}
