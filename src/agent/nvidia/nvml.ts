import { type Bytes, errors, systemClock } from "#core";
import type { GpuProcess, GpuReading, Sensor, Vitals } from "../sensors/sensor.ts";
import {
  type Device,
  LIBRARY,
  load,
  type Nvml,
  newerFunction,
  OK,
  openDevice,
  readU32,
} from "./library.ts";
import { vitalsOf } from "./vitals.ts";

const CLOCK_SM = 1;
/** nvmlReturn_t: no device has that UUID, or none can have it. */
const noSuchDevice = new Set([6, 2]);
const MAX_PROCESSES = 256;
/** nvmlProcessInfo_t holds u32 pid, u64 usedGpuMemory, u32 gpuInstance, u32 computeInstance. */
const PROCESS_BYTES = 24;
const MEMORY_UNKNOWN = 2n ** 64n - 1n;
/** nvmlProcessUtilizationSample_t holds u32 pid, u64 timeStamp (us), u32 smUtil (%), and more. */
const SAMPLE_BYTES = 32;
/** nvmlReturn_t: nothing has run since the given time. */
const NOT_FOUND = 6;

/** Throws a UserError if this machine has no NVIDIA driver, or the driver no GPU. */
export function openNvml(name?: string, now = systemClock.now): Sensor {
  const nvml = load(name);
  if (!nvml) throw errors.noGpu(`${name ?? LIBRARY} is not installed`);
  const status = nvml.init();
  if (status !== OK) throw errors.noGpu(`the NVIDIA driver says "${nvml.describe(status)}"`);
  const count = readU32((out) => nvml.count(out)) ?? 0;
  if (count === 0) throw errors.noGpu("the NVIDIA driver knows of none");
  const devices = Array.from({ length: count }, (_, index) => openDevice(nvml, index));
  let vitals: readonly (() => Vitals)[] | undefined;
  const uses = new Map(devices.map(({ uuid, handle }) => [uuid, useOf(nvml, handle, now)]));
  return {
    read: () => devices.map((device) => readDevice(nvml, device)),
    vitals() {
      vitals ??= devices.map((device) => vitalsOf(nvml, device, name));
      return vitals.map((read) => read());
    },
    use: (uuid) => uses.get(uuid)?.(),
    free(uuid) {
      const device = devices.find((one) => one.uuid === uuid);
      const memory = new BigUint64Array(3); // total, free, used
      return device && nvml.memory(device.handle, memory) === OK ? Number(memory[1]) : undefined;
    },
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
  const count = new Uint32Array([MAX_PROCESSES]);
  const raw = new DataView(new ArrayBuffer(MAX_PROCESSES * PROCESS_BYTES));
  if (ask(count, new Uint8Array(raw.buffer)) !== OK) return [];
  return Array.from({ length: count[0] ?? 0 }, (_, i) => {
    const memory = raw.getBigUint64(i * PROCESS_BYTES + 8, true);
    return {
      pid: raw.getUint32(i * PROCESS_BYTES, true),
      memory: memory === MEMORY_UNKNOWN ? undefined : (Number(memory) as Bytes),
    };
  });
}

/** Adds up samples, each of which is a part of the time. A call takes 1.5 ms (H200, driver 580). */
function useOf(nvml: Nvml, device: Device["handle"], now: () => number) {
  const ask = newerFunction(
    nvml.library,
    "int nvmlDeviceGetProcessUtilization(void *, void *, void *, uint64_t since)",
  );
  const sums = new Map<number, number>();
  let last: { readonly at: number; readonly stamp: bigint } | undefined;
  return () => {
    const count = new Uint32Array([MAX_PROCESSES]);
    const raw = new DataView(new ArrayBuffer(MAX_PROCESSES * SAMPLE_BYTES));
    const bytes = new Uint8Array(raw.buffer);
    const status = ask(device, bytes, count, last?.stamp ?? 0n);
    if (status !== OK && status !== NOT_FOUND) return undefined;
    const at = now();
    const samples = Array.from({ length: status === OK ? (count[0] ?? 0) : 0 }, (_, i) => ({
      pid: raw.getUint32(i * SAMPLE_BYTES, true),
      stamp: raw.getBigUint64(i * SAMPLE_BYTES + 8, true),
      share: raw.getUint32(i * SAMPLE_BYTES + 16, true) / 100,
    }));
    // The first call's samples belong to the time before it.
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
