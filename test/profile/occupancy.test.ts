// Ours against NVIDIA's occupancy calculator, where its header is installed. The figures of each capability
// are typed in here once more, from the CUDA C Programming Guide: what a device reports of itself.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { occupancy } from "#profile";

const { CUDA_HOME, CI } = process.env;
const include = [
  ...(CUDA_HOME ? [`${CUDA_HOME}/include`] : []),
  ...["/usr/local/cuda/include", "/usr/local/cuda-13.0/include"],
].find((folder) => existsSync(join(folder, "cuda_occupancy.h")));
if (!include && CI)
  throw new Error("cuda_occupancy.h is missing: set CUDA_HOME=$(scripts/cuda-tools).");

/** Threads and shared memory of an SM, the most shared memory of a block, what the driver reserves. */
const devices: Readonly<Record<string, readonly number[]>> = {
  "7.0": [2048, 98_304, 98_304, 0],
  "7.5": [1024, 65_536, 65_536, 0],
  "8.0": [2048, 167_936, 166_912, 1024],
  "8.6": [1536, 102_400, 101_376, 1024],
  "8.7": [1536, 167_936, 166_912, 1024],
  "8.9": [1536, 102_400, 101_376, 1024],
  "9.0": [2048, 233_472, 232_448, 1024],
  "10.0": [2048, 233_472, 232_448, 1024],
  "10.3": [2048, 233_472, 232_448, 1024],
  "11.0": [1536, 233_472, 232_448, 1024],
  "12.0": [1536, 102_400, 101_376, 1024],
  "12.1": [1536, 102_400, 101_376, 1024],
};

describe.skipIf(!include)("NVIDIA's calculator", () => {
  const folder = mkdtempSync(join(tmpdir(), "cotenant-occupancy-"));
  const program = join(folder, "nvidia-occupancy");
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeAll(() => {
    const source = "test/profile/nvidia-occupancy.cpp";
    execFileSync("g++", ["-std=c++17", "-O1", "-w", `-I${include}`, source, "-o", program]);
  });

  test.each(Object.keys(devices))("says the same of every launch on %s", (capability) => {
    const size = (most: number) =>
      fc.oneof(
        fc.constant(0),
        fc.integer({ min: 0, max: most }),
        fc.integer({ min: 0, max: most / 128 }).map((units) => units * 128),
      );
    const launches = fc.sample(
      fc.tuple(
        fc.integer({ min: 1, max: 1100 }),
        fc.integer({ min: 0, max: 260 }),
        size(49_152),
        size(240 * 1024),
      ),
      { numRuns: 5000, seed: 1 },
    );
    const input = launches
      .map((launch) =>
        [...capability.split("."), ...(devices[capability] ?? []), ...launch].join(" "),
      )
      .join("\n");
    const theirs = execFileSync(program, { input, encoding: "utf8" })
      .trim()
      .split("\n")
      .map(Number);
    const ours = launches.map(
      ([threads, registers, staticSharedBytes, dynamicSharedBytes]) =>
        occupancy(capability, {
          block: [threads, 1, 1],
          registers,
          staticSharedBytes,
          dynamicSharedBytes,
        }).blocksPerSm,
    );
    expect(launches.filter((_, i) => ours[i] !== theirs[i])).toEqual([]);
    expect(Math.max(...ours)).toBeGreaterThan(10);
  });
});
