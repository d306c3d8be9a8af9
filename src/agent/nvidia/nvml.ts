// NVML, the library behind nvidia-smi: what the driver says about each GPU. Reading a value takes some tens of
// microseconds (an H200, driver 580).
import koffi from "koffi";
import { type Bytes, errors, systemClock } from "#core";
import type { GpuProcess, GpuReading, Sensor } from "../sensor.ts";

export const OK = 0;
const LIBRARY = "libnvidia-ml.so.1";
const CLOCK_SM = 1;
const VERSION_BYTES = 80;
const UUID_BYTES = 96;
const NAME_BYTES = 96;
/** Values of nvmlReturn_t: no device has that UUID, or none can have it. */
const noSuchDevice = new Set([6, 2]);
const MOST_PROCESSES = 256;
/** nvmlProcessInfo_t: u32 pid, u64 usedGpuMemory, u32 gpuInstance, u32 computeInstance. */
const PROCESS_BYTES = 24;
const MEMORY_UNKNOWN = 2n ** 64n - 1n;
/** nvmlProcessUtilizationSample_t: u32 pid, u64 timeStamp (us), u32 smUtil (per cent), memUtil, encUtil, decUtil. */
const SAMPLE_BYTES = 32;
/** nvmlReturn_t: nothing has run since the given time. */
const NOT_FOUND = 6;
const NO_FUNCTION = 13;

/** Throws a UserError if this machine has no NVIDIA driver, or the driver no GPU. */
export function openNvml(name = LIBRARY, now = systemClock.now): Sensor {
  const nvml = load(name);
  if (!nvml) throw errors.noGpu(`${name} is not installed`);
  const status = nvml.init();
  if (status !== OK) throw errors.noGpu(`the NVIDIA driver says "${nvml.describe(status)}"`);
  const count = readU32((out) => nvml.count(out)) ?? 0;
  if (count === 0) throw errors.noGpu("the NVIDIA driver knows of none");
  const devices = Array.from({ length: count }, (_, index) => openDevice(nvml, index));
  const uses = new Map(devices.map(({ uuid, handle }) => [uuid, useOf(nvml, handle, now)]));
  return {
    read: () => devices.map((device) => readDevice(nvml, device)),
    use: (uuid) => uses.get(uuid)?.(),
    knows(uuid) {
      // The driver gives a part of a GPU (MIG) a UUID of its own with another prefix.
      const statuses = [uuid, uuid.replace(/^GPU-/, "MIG-")].map(
        (name) => nvml.byUuid(name).status,
      );
      if (statuses.includes(OK)) return true;
      return statuses.every((one) => noSuchDevice.has(one)) ? false : undefined;
    },
  };
}

/** The driver's version, such as "580.95.05"; undefined without a driver. */
export function driverVersion(name = LIBRARY): string | undefined {
  const nvml = load(name);
  if (!nvml || nvml.init() !== OK) return undefined;
  return nvml.driver() || undefined;
}

export type Nvml = NonNullable<ReturnType<typeof load>>;

interface Device {
  readonly handle: ReturnType<Nvml["device"]>;
  /** Read at once, because a GPU that is lost later answers nothing. */
  readonly uuid: string;
  readonly name: string;
}

/** Undefined if the library is not installed. */
export function load(name = LIBRARY) {
  let library: ReturnType<typeof koffi.load>;
  try {
    library = koffi.load(name);
  } catch {
    return undefined;
  }
  const byIndex = library.func("int nvmlDeviceGetHandleByIndex_v2(unsigned int, _Out_ void **)");
  const version = library.func("int nvmlSystemGetDriverVersion(void *, unsigned int)");
  const byUuid = library.func("int nvmlDeviceGetHandleByUUID(const char *, _Out_ void **)");
  return {
    library,
    init: library.func("int nvmlInit_v2()"),
    describe: library.func("const char *nvmlErrorString(int)"),
    driver: () => readText(VERSION_BYTES, (out, size) => version(out, size)),
    count: library.func("int nvmlDeviceGetCount_v2(void *)"),
    uuid: library.func("int nvmlDeviceGetUUID(void *, void *, unsigned int)"),
    name: library.func("int nvmlDeviceGetName(void *, void *, unsigned int)"),
    memory: library.func("int nvmlDeviceGetMemoryInfo(void *, void *)"),
    utilisation: library.func("int nvmlDeviceGetUtilizationRates(void *, void *)"),
    clock: library.func("int nvmlDeviceGetClockInfo(void *, int, void *)"),
    power: library.func("int nvmlDeviceGetPowerUsage(void *, void *)"),
    processes: library.func("int nvmlDeviceGetComputeRunningProcesses_v3(void *, void *, void *)"),
    mpsProcesses: newerFunction(
      library,
      "int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *, void *, void *)",
    ),
    device(index: number) {
      const out = [null];
      byIndex(index, out);
      return out[0];
    },
    byUuid(uuid: string) {
      const out = [null];
      const status: number = byUuid(uuid, out);
      return { status, device: out[0] };
    },
  };
}

export function openDevice(nvml: Nvml, index: number): Device {
  const handle = nvml.device(index);
  return {
    handle,
    uuid: readText(UUID_BYTES, (out, size) => nvml.uuid(handle, out, size)),
    name: readText(NAME_BYTES, (out, size) => nvml.name(handle, out, size)),
  };
}

function readDevice(nvml: Nvml, { handle, uuid, name }: Device): GpuReading {
  const memory = new BigUint64Array(3); // total, free, used
  const memoryStatus = nvml.memory(handle, memory);
  const memoryKnown = memoryStatus === OK;
  const utilisation = new Uint32Array(2); // gpu, memory; per cent
  const utilisationKnown = nvml.utilisation(handle, utilisation) === OK;
  const milliwatts = readU32((out) => nvml.power(handle, out));
  return {
    uuid,
    name,
    error: memoryKnown ? undefined : nvml.describe(memoryStatus),
    memoryTotal: memoryKnown ? (Number(memory[0]) as Bytes) : undefined,
    memoryUsed: memoryKnown ? (Number(memory[2]) as Bytes) : undefined,
    utilisation: utilisationKnown ? (utilisation[0] ?? 0) / 100 : undefined,
    memoryUtilisation: utilisationKnown ? (utilisation[1] ?? 0) / 100 : undefined,
    smClockMHz: readU32((out) => nvml.clock(handle, CLOCK_SM, out)),
    powerW: milliwatts === undefined ? undefined : milliwatts / 1000,
    processes: readProcesses((count, out) => nvml.processes(handle, count, out)),
    mpsProcesses: readProcesses((count, out) => nvml.mpsProcesses(handle, count, out)),
  };
}

function readProcesses(
  ask: (count: Uint32Array, out: Uint8Array) => number,
): readonly GpuProcess[] {
  const count = new Uint32Array([MOST_PROCESSES]);
  const raw = new DataView(new ArrayBuffer(MOST_PROCESSES * PROCESS_BYTES));
  if (ask(count, new Uint8Array(raw.buffer)) !== OK) return [];
  return Array.from({ length: count[0] ?? 0 }, (_, i) => {
    const memory = raw.getBigUint64(i * PROCESS_BYTES + 8, true);
    return {
      pid: raw.getUint32(i * PROCESS_BYTES, true),
      memory: memory === MEMORY_UNKNOWN ? undefined : (Number(memory) as Bytes),
    };
  });
}

/** Older drivers do not have it: then it answers so. */
function newerFunction(
  library: ReturnType<typeof koffi.load>,
  declaration: string,
): (...given: readonly unknown[]) => number {
  try {
    return library.func(declaration);
  } catch {
    return () => NO_FUNCTION;
  }
}

/**
 * Adds up the driver's samples since the last look. Each says for what part of the time a process ran. A look takes 1.5
 * ms (an H200, driver 580).
 */
function useOf(nvml: Nvml, device: Device["handle"], now: () => number) {
  const ask = newerFunction(
    nvml.library,
    "int nvmlDeviceGetProcessUtilization(void *, void *, void *, uint64_t since)",
  );
  const sums = new Map<number, number>();
  let last: { readonly at: number; readonly stamp: bigint } | undefined;
  return () => {
    const count = new Uint32Array([MOST_PROCESSES]);
    const raw = new DataView(new ArrayBuffer(MOST_PROCESSES * SAMPLE_BYTES));
    const bytes = new Uint8Array(raw.buffer);
    const status = ask(device, bytes, count, last?.stamp ?? 0n);
    if (status !== OK && status !== NOT_FOUND) return undefined;
    const at = now();
    const samples = Array.from({ length: status === OK ? (count[0] ?? 0) : 0 }, (_, i) => ({
      pid: raw.getUint32(i * SAMPLE_BYTES, true),
      stamp: raw.getBigUint64(i * SAMPLE_BYTES + 8, true),
      share: raw.getUint32(i * SAMPLE_BYTES + 16, true) / 100,
    }));
    // The samples of the first look belong to the time before it.
    const span = last ? at - last.at : 0;
    let stamp = last?.stamp ?? 0n;
    for (const sample of samples) {
      sums.set(sample.pid, (sums.get(sample.pid) ?? 0) + sample.share * span);
      if (sample.stamp > stamp) stamp = sample.stamp;
    }
    last = { at, stamp };
    return new Map(sums);
  };
}

export function readU32(call: (out: Uint32Array) => number): number | undefined {
  const out = new Uint32Array(1);
  return call(out) === OK ? out[0] : undefined;
}

function readText(size: number, call: (out: Uint8Array, size: number) => number): string {
  const out = new Uint8Array(size);
  if (call(out, size) !== OK) return "";
  return new TextDecoder().decode(out.subarray(0, out.indexOf(0)));
}
