// Readings of software GPUs, whose file is written by hand at the offsets of native/softgpu/device/device.h.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import { driverVersion } from "./nvidia/index.ts";
import { startTimeOf } from "./system/index.ts";
import { watchSystem } from "./system-watch.ts";

const PROCESS = 64;
const DEVICES = 64 + 80 * 128;
const DEVICE_SIZE = 72 + 40 * 128;
const SIZE = DEVICES + 8 * DEVICE_SIZE;

interface Device {
  /** Memory of this process. */
  readonly memory: number;
  /** How long kernels have run on it. */
  readonly busyNs: number;
}

function gpus() {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-system-watch-`);
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  const write = (...devices: readonly Device[]) => {
    const file = Buffer.alloc(SIZE);
    file.writeUInt32LE(0x47534f43, 0);
    file.writeUInt32LE(1, 4);
    file.writeBigUInt64LE(BigInt(SIZE), 8);
    file.writeUInt32LE(devices.length, 16);
    file.write(bootId, 24, "latin1");
    file.writeUInt32LE(process.pid, PROCESS);
    file.writeBigUInt64LE(BigInt(startTimeOf(process.pid) ?? 0), PROCESS + 8);
    for (const [i, { memory, busyNs }] of devices.entries()) {
      file.writeBigUInt64LE(BigInt(memory), PROCESS + 16 + 8 * i);
      file.writeBigUInt64LE(BigInt(busyNs), DEVICES + i * DEVICE_SIZE + 56);
    }
    writeFileSync(`${directory}/devices`, file);
  };
  const watch = (visible?: string) => {
    const env = { COTENANT_SOFTGPU_DIR: directory, CUDA_VISIBLE_DEVICES: visible };
    const watching = watchSystem(env);
    onTestFinished(() => watching.stop());
    return { ...watching, all: () => watching.between(0, Number.POSITIVE_INFINITY) };
  };
  return { write, watch };
}

const now = () => Number(process.hrtime.bigint());

/** Until it is so: a reading comes ten times a second. */
const soon = { timeout: 60_000, interval: 20 };

test("memory is the most that was used, beyond what was in use at the start", async () => {
  const { write, watch } = gpus();
  write({ memory: 1000, busyNs: 0 });
  const { gpu, others, all, between } = watch();
  expect([gpu, others]).toEqual(["Cotenant Software GPU", 1]);
  write({ memory: 5000, busyNs: 0 });
  await expect.poll(all, soon).toMatchObject({ memoryBytes: 4000 });
  write({ memory: 1200, busyNs: 0 });
  const from = now();
  await expect.poll(() => between(from, now()), soon).toMatchObject({ memoryBytes: 200 });
  expect(all().memoryBytes).toBe(4000);
});

test("less memory in use than at the start is none", async () => {
  const { write, watch } = gpus();
  write({ memory: 1000, busyNs: 0 });
  const { all } = watch();
  write({ memory: 200, busyNs: 0 });
  await expect.poll(all, soon).toMatchObject({ memoryBytes: 0 });
});

test("how busy the GPU was is the mean of the readings, and what it does not tell is left out", async () => {
  const { write, watch } = gpus();
  write({ memory: 0, busyNs: 0 });
  const { all } = watch();
  await expect.poll(all, soon).toEqual({ memoryBytes: 0, smBusy: 0 });
  write({ memory: 0, busyNs: 1e15 }); // all of the time since the reading before
  await expect.poll(() => all().smBusy, soon).toBeGreaterThan(0);
  const { smBusy = 0 } = all();
  expect(smBusy).toBeLessThan(1);
  expect(1 / smBusy).toBeCloseTo(Math.round(1 / smBusy));
});

test("only readings between the two moments count", async () => {
  const { write, watch } = gpus();
  write({ memory: 0, busyNs: 0 });
  const { all, between } = watch();
  const before = now();
  await expect.poll(all, soon).toMatchObject({ memoryBytes: 0 });
  const middle = now();
  write({ memory: 7000, busyNs: 0 });
  await expect.poll(all, soon).toMatchObject({ memoryBytes: 7000 });
  expect(between(before, middle)).toEqual({ memoryBytes: 0, smBusy: 0 });
  expect(between(middle, now())).toMatchObject({ memoryBytes: 7000 });
  expect(between(0, before)).toEqual({});
});

test("the GPU that is watched is the first that CUDA_VISIBLE_DEVICES leaves", async () => {
  const { write, watch } = gpus();
  write({ memory: 1000, busyNs: 0 }, { memory: 0, busyNs: 0 });
  const watched = ["1,0", "0", "GPU-by-another-name"].map(watch);
  expect(watched.map(({ others }) => others)).toEqual([0, 1, 1]);
  write({ memory: 2000, busyNs: 0 }, { memory: 700, busyNs: 0 });
  for (const [i, memoryBytes] of [700, 1000, 1000].entries())
    await expect.poll(() => watched[i]?.all(), soon).toMatchObject({ memoryBytes });
});

test("a GPU that is not there yet has a name, and nothing is known of it", () => {
  const { write, watch } = gpus();
  const none = watch();
  expect([none.gpu, none.why, none.others]).toEqual([
    "Cotenant Software GPU",
    "there is no GPU 0",
    0,
  ]);
  expect(none.all()).toEqual({});
  write({ memory: 0, busyNs: 0 });
  expect(watch("3").why).toBe("there is no GPU 3");
});

test("a GPU that is gone is not read, and counts again when it is back", async () => {
  const { write, watch } = gpus();
  write({ memory: 0, busyNs: 0 }, { memory: 0, busyNs: 0 });
  const first = watch("0");
  const { all } = watch("1");
  write({ memory: 0, busyNs: 0 });
  const gone = now();
  await expect.poll(() => first.between(gone, now()), soon).toMatchObject({ memoryBytes: 0 });
  write({ memory: 0, busyNs: 0 }, { memory: 300, busyNs: 0 });
  await expect.poll(all, soon).toMatchObject({ memoryBytes: 300 });
});

test("once it is stopped nothing more is read", async () => {
  const { write, watch } = gpus();
  write({ memory: 0, busyNs: 0 });
  const [stopped, other] = [watch(), watch()];
  stopped.stop();
  const from = now();
  await expect.poll(() => other.between(from, now()), soon).toMatchObject({ memoryBytes: 0 });
  expect(stopped.between(from, now())).toEqual({});
});

test.skipIf(driverVersion() !== undefined)(
  "without a driver it is said why nothing is known",
  () => {
    const { gpu, why, others, stop, between } = watchSystem({});
    onTestFinished(stop);
    expect(gpu).toBeUndefined();
    expect(why).toBe("There is no NVIDIA GPU to serve here: libnvidia-ml.so.1 is not installed.");
    expect(others).toBe(0);
    expect(between(0, Number.POSITIVE_INFINITY)).toEqual({});
  },
);
