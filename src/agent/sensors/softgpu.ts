// The layout is that of native/softgpu/device/device.h; a file of another layout, or from before a
// reboot, is ignored.
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import type { Bytes } from "#core";
import { formatUuid } from "../gpus/region.ts";
import { hasPid, isAlive } from "../system/index.ts";
import type { GpuReading, Sensor } from "./sensor.ts";
import { openSoftVitals } from "./soft-vitals.ts";

export const SOFT_GPU_NAME = "Cotenant Software GPU";

const MAGIC = 0x47534f43;
const LAYOUT = 1;
const MAX_DEVICES = 8;
const MAX_PROCESSES = 128;
const MAX_CONTEXTS = 128;
const shared = { magic: 0, layout: 4, size: 8, devices: 16, bootId: 24, processes: 64 } as const;
const processPart = { pid: 0, startTime: 8, memory: 16, size: 16 + 8 * MAX_DEVICES } as const;
const devicePart = { memoryTotal: 0, uuid: 16, busyNs: 56, contexts: 72 } as const;
const contextPart = { process: 0, busyNs: 24, size: 40 } as const;
const DEVICES_AT = shared.processes + MAX_PROCESSES * processPart.size;
const DEVICE_SIZE = devicePart.contexts + MAX_CONTEXTS * contextPart.size;
const SHARED_SIZE = DEVICES_AT + MAX_DEVICES * DEVICE_SIZE;

const fileIn = (folder: string) => `${folder}/devices`;

export function openSoftGpus(directory: string, now: () => number): Sensor {
  const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  let before: { readonly at: number; readonly busyNs: readonly number[] } | undefined;
  const look = (isThere = isAlive) => {
    const file = readShared(fileIn(directory), bootId);
    const count = file?.getUint32(shared.devices, true) ?? 0;
    return file
      ? Array.from({ length: count }, (_, index) => readDevice(file, index, isThere))
      : [];
  };
  const vitals = openSoftVitals(directory);
  return {
    // This runs often and needs memory only: whether a pid was reused can wait.
    vitals: () => vitals(look(hasPid).map(({ reading }) => reading)),
    knows: (uuid) => look().some(({ reading }) => reading.uuid === uuid) || undefined,
    free(uuid) {
      const { memoryTotal, memoryUsed } =
        look().find(({ reading }) => reading.uuid === uuid)?.reading ?? {};
      return memoryTotal === undefined || memoryUsed === undefined
        ? undefined
        : memoryTotal - memoryUsed;
    },
    use: (uuid) => look().find(({ reading }) => reading.uuid === uuid)?.use,

    read() {
      const at = now();
      const devices = look();
      const last = before;
      before = { at, busyNs: devices.map(({ busyNs }) => busyNs) };
      return devices.map(({ reading, busyNs }, index) => {
        const earlier = last?.busyNs[index];
        const utilisation =
          last && earlier !== undefined && busyNs >= earlier && at > last.at
            ? Math.min(1, (busyNs - earlier) / (at - last.at))
            : undefined;
        return { ...reading, utilisation };
      });
    },
  };
}

function readShared(path: string, bootId: string): DataView | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return undefined;
  }
  if (bytes.length < SHARED_SIZE) return undefined;
  const file = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const writtenId = bytes.toString("latin1", shared.bootId, shared.bootId + bootId.length);
  const believed =
    file.getUint32(shared.magic, true) === MAGIC &&
    file.getUint32(shared.layout, true) === LAYOUT &&
    u64(file, shared.size) === SHARED_SIZE &&
    file.getUint32(shared.devices, true) <= MAX_DEVICES &&
    writtenId === bootId;
  return believed ? file : undefined;
}

function readDevice(file: DataView, index: number, isThere: typeof isAlive) {
  const base = DEVICES_AT + index * DEVICE_SIZE;
  const processes = processesOn(file, index, base, isThere);
  const uuid = new Uint8Array(file.buffer, file.byteOffset + base + devicePart.uuid, 16);
  const reading: GpuReading = {
    uuid: formatUuid(uuid),
    name: SOFT_GPU_NAME,
    error: undefined,
    memoryTotal: u64(file, base + devicePart.memoryTotal) as Bytes,
    memoryUsed: processes.reduce((sum, { memory }) => sum + memory, 0) as Bytes,
    utilisation: undefined,
    memoryUtilisation: undefined,
    smClockMHz: undefined,
    powerW: undefined,
    processes,
    mpsProcesses: [],
  };
  return { reading, busyNs: u64(file, base + devicePart.busyNs), use: useIn(file, base) };
}

function useIn(file: DataView, base: number): ReadonlyMap<number, number> {
  const use = new Map<number, number>();
  for (let slot = 0; slot < MAX_CONTEXTS; slot++) {
    const at = base + devicePart.contexts + slot * contextPart.size;
    const process = file.getUint32(at + contextPart.process, true);
    if (process === 0 || process > MAX_PROCESSES) continue;
    const owner = shared.processes + (process - 1) * processPart.size + processPart.pid;
    const pid = file.getUint32(owner, true);
    use.set(pid, (use.get(pid) ?? 0) + u64(file, at + contextPart.busyNs));
  }
  return use;
}

function processesOn(file: DataView, index: number, base: number, isThere: typeof isAlive) {
  const withContext = new Set(
    Array.from({ length: MAX_CONTEXTS }, (_, slot) =>
      file.getUint32(base + devicePart.contexts + slot * contextPart.size, true),
    ),
  );
  return Array.from({ length: MAX_PROCESSES }, (_, i) => {
    const at = shared.processes + i * processPart.size;
    const memory = u64(file, at + processPart.memory + 8 * index) as Bytes;
    return {
      pid: file.getUint32(at + processPart.pid, true),
      startTime: u64(file, at + processPart.startTime),
      memory,
      here: memory > 0 || withContext.has(i + 1),
    };
  })
    .filter(({ pid, startTime, here }) => here && pid !== 0 && isThere(pid, startTime))
    .map(({ pid, memory }) => ({ pid, memory }));
}

const u64 = (file: DataView, at: number) => Number(file.getBigUint64(at, true));

/** All users' processes write to the file of a software GPU, which is for tests. */
export function openToAll(folder: string): void {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  const file = fileIn(folder);
  closeSync(openSync(file, "a"));
  chmodSync(file, 0o666);
}
