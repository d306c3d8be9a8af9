// The reader against a file written by hand at the offsets of native/softgpu/device/device.h.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { openSoftGpus } from "./softgpu.ts";
import { startTimeOf } from "./system/index.ts";

const PROCESS = 64;
const DEVICE = 64 + 80 * 128;
const CONTEXT = DEVICE + 72;
const SIZE = DEVICE + 8 * (72 + 40 * 128);

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

function sensorOf(file: Buffer) {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-softgpu-`);
  onTestFinished(() => rmSync(directory, { recursive: true }));
  let now = 0;
  const write = () => writeFileSync(`${directory}/devices`, file);
  write();
  const sensor = openSoftGpus(directory, () => now);
  return {
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
    },
  ]);
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
  const sensor = sensorOf(file);
  sensor.read(1e9);
  file.writeBigUInt64LE(250_000_000n, DEVICE + 56);
  expect(sensor.read(2e9)[0]?.utilisation).toBe(0.25);
});

test.each([
  { name: "of another layout", damage: (file: Buffer) => void file.writeUInt32LE(2, 4) },
  { name: "from before a reboot", damage: (file: Buffer) => void file.write("0", 24) },
  { name: "with another magic", damage: (file: Buffer) => void file.writeUInt32LE(0, 0) },
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
