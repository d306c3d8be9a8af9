// The reader against a file written by hand at the offsets of native/softgpu/device/device.h.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { startTimeOf } from "../system/index.ts";
import { openSoftGpus } from "./softgpu.ts";

const PROCESS = 64;
const DEVICE = 64 + 80 * 128;
const CONTEXT = DEVICE + 72;
const DEVICE_SIZE = 72 + 40 * 128;
const SIZE = DEVICE + 8 * DEVICE_SIZE;

const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();

/** One device with 2 GiB, used by this process (1,000 bytes) and by one that is dead. */
function sharedFile(): Buffer {
  const file = Buffer.alloc(SIZE);
  file.writeUInt32LE(0x47534f43, 0);
  file.writeUInt32LE(1, 4);
  file.writeBigUInt64LE(BigInt(SIZE), 8);
  file.writeUInt32LE(1, 16);
  file.write(bootId, 24, "latin1");
  for (const [index, startTime] of [startTimeOf(process.pid) ?? 0, 1].entries()) {
    file.writeUInt32LE(process.pid, PROCESS + 80 * index);
    file.writeBigUInt64LE(BigInt(startTime), PROCESS + 80 * index + 8);
    file.writeBigUInt64LE(1000n, PROCESS + 80 * index + 16);
    file.writeUInt32LE(index + 1, CONTEXT + 40 * index);
  }
  file.writeBigUInt64LE(2n ** 31n, DEVICE);
  file.fill(0xab, DEVICE + 16, DEVICE + 32);
  return file;
}

/** Eight devices. This process has memory on the second, a context on the third, and nothing on the others. */
function eightDevices(): Buffer {
  const file = sharedFile();
  file.writeUInt32LE(8, 16);
  file.fill(0, PROCESS, DEVICE);
  file.fill(0, CONTEXT, DEVICE + DEVICE_SIZE);
  const [, second, third] = Array.from({ length: 8 }, (_, i) => DEVICE + i * DEVICE_SIZE);
  if (!second || !third) throw new Error("no devices");
  file.fill(0xbc, second + 16, second + 32);
  file.writeBigUInt64LE(3000n, second);
  const slot = 5;
  const mine = PROCESS + 80 * slot;
  file.writeUInt32LE(process.pid, mine);
  file.writeBigUInt64LE(BigInt(startTimeOf(process.pid) ?? 0), mine + 8);
  file.writeBigUInt64LE(2000n, mine + 16 + 8);
  file.writeUInt32LE(slot + 1, third + 72 + 40 * 7);
  return file;
}

function sensorOf(file: Buffer) {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-softgpu-`);
  onTestFinished(() => rmSync(directory, { recursive: true }));
  let now = 0;
  const write = () => writeFileSync(`${directory}/devices`, file);
  write();
  const sensor = openSoftGpus(directory, () => now);
  return {
    knows: (uuid: string) => sensor.knows(uuid),
    use: (uuid: string) => sensor.use(uuid),
    read: (at: number) => {
      now = at;
      write();
      return sensor.read();
    },
  };
}

test("a software GPU is read with the memory and processes of the living", () => {
  expect(sensorOf(sharedFile()).read(0)).toEqual([
    {
      uuid: "GPU-abababab-abab-abab-abab-abababababab",
      name: "Cotenant Software GPU",
      memoryTotal: 2 ** 31,
      memoryUsed: 1000,
      utilisation: undefined,
      memoryUtilisation: undefined,
      smClockMHz: undefined,
      powerW: undefined,
      processes: [{ pid: process.pid, memory: 1000 }],
      mpsProcesses: [],
    },
  ]);
});

test("each of eight software GPUs has its own memory, and the processes that have a context or memory on it", () => {
  const readings = sensorOf(eightDevices()).read(0);
  expect(readings.map(({ processes }) => processes)).toEqual([
    [],
    [{ pid: process.pid, memory: 2000 }],
    [{ pid: process.pid, memory: 0 }],
    ...Array.from({ length: 5 }, () => []),
  ]);
  expect(readings[0]).toMatchObject({ memoryTotal: 2 ** 31, memoryUsed: 0 });
  expect(readings[1]).toMatchObject({
    uuid: "GPU-bcbcbcbc-bcbc-bcbc-bcbc-bcbcbcbcbcbc",
    memoryTotal: 3000,
    memoryUsed: 2000,
  });
});

test("a GPU that is listed is known; of another nothing is said, it may be of another folder", () => {
  const { knows } = sensorOf(eightDevices());
  expect(knows("GPU-bcbcbcbc-bcbc-bcbc-bcbc-bcbcbcbcbcbc")).toBe(true);
  expect(knows("GPU-cdcdcdcd-cdcd-cdcd-cdcd-cdcdcdcdcdcd")).toBeUndefined();
});

test("a GPU that ran nothing between two readings has utilisation 0, one whose first reading this is has none", () => {
  const file = sharedFile();
  const sensor = sensorOf(file);
  expect(sensor.read(1e9)[0]?.utilisation).toBeUndefined();
  file.writeUInt32LE(2, 16);
  expect(sensor.read(2e9).map(({ utilisation }) => utilisation)).toEqual([0, undefined]);
  expect(sensor.read(2e9)[0]?.utilisation).toBeUndefined();
});

test("a GPU that was made anew between two readings has no utilisation yet", () => {
  const file = sharedFile();
  file.writeBigUInt64LE(900_000_000n, DEVICE + 56);
  const sensor = sensorOf(file);
  sensor.read(1e9);
  file.writeBigUInt64LE(250_000_000n, DEVICE + 56);
  expect(sensor.read(2e9)[0]?.utilisation).toBeUndefined();
});

test("utilisation is the busy part of the time between two readings", () => {
  const file = sharedFile();
  file.writeBigUInt64LE(900_000_000n, DEVICE + 56);
  const sensor = sensorOf(file);
  sensor.read(1e9);
  file.writeBigUInt64LE(1_150_000_000n, DEVICE + 56);
  expect(sensor.read(2e9)[0]?.utilisation).toBe(0.25);
  file.writeBigUInt64LE(3_000_000_000n, DEVICE + 56); // counted a little later than the time was read
  expect(sensor.read(3e9)[0]?.utilisation).toBe(1);
});

test.each([
  { name: "of another layout", damage: (file: Buffer) => void file.writeUInt32LE(2, 4) },
  { name: "from before a reboot", damage: (file: Buffer) => void file.write("0", 24) },
  { name: "with another magic", damage: (file: Buffer) => void file.writeUInt32LE(0, 0) },
  { name: "of another size", damage: (file: Buffer) => void file.writeUInt32LE(SIZE + 8, 8) },
  { name: "with too many devices", damage: (file: Buffer) => void file.writeUInt32LE(9, 16) },
])("a file $name is not believed", ({ damage }) => {
  const file = sharedFile();
  damage(file);
  expect(sensorOf(file).read(0)).toEqual([]);
});

test("a short file, or none, is no GPU", () => {
  expect(sensorOf(sharedFile().subarray(0, 1000)).read(0)).toEqual([]);
  expect(openSoftGpus("/nonexistent", () => 0).read()).toEqual([]);
});

test("what a process uses is the sum over its contexts on that GPU", () => {
  const file = sharedFile();
  for (const [slot, ns] of [5n, 0n, 7n].entries()) {
    file.writeUInt32LE(slot === 1 ? 0 : 1, CONTEXT + 40 * slot);
    file.writeBigUInt64LE(ns, CONTEXT + 40 * slot + 24);
  }
  const sensor = sensorOf(file);
  expect(sensor.use("GPU-abababab-abab-abab-abab-abababababab")).toEqual(
    new Map([[process.pid, 12]]),
  );
  expect(sensor.use("GPU-other")).toBe(undefined);
});
