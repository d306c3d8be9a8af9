// What can be read about the machine's GPUs from outside any client. Two implementations: nvml.ts and
// softgpu.ts. A reading that a GPU does not support is undefined, never zero.
import type { Bytes } from "#core";

export interface GpuReading {
  /** "GPU-8a7b…" */
  readonly uuid: string;
  readonly name: string;
  /** Why the driver can't read it, in its own words, such as "GPU is lost"; undefined while it can. */
  readonly error: string | undefined;
  readonly memoryTotal: Bytes | undefined;
  readonly memoryUsed: Bytes | undefined;
  /** Part of the last second in which some kernel ran, 0 to 1. */
  readonly utilisation: number | undefined;
  /** Part of it in which memory was read or written. */
  readonly memoryUtilisation: number | undefined;
  readonly smClockMHz: number | undefined;
  readonly powerW: number | undefined;
  /** Those with a context of their own. */
  readonly processes: readonly GpuProcess[];
  /** Those whose contexts an MPS server holds. */
  readonly mpsProcesses: readonly GpuProcess[];
}

export interface GpuProcess {
  /** As this process sees it. */
  readonly pid: number;
  readonly memory: Bytes | undefined;
}

export interface Sensor {
  /** One reading per GPU, in the driver's order. */
  read(): readonly GpuReading[];
  /**
   * For how long kernels of each process have run on that GPU, in ns since the sensor was opened, by pid; undefined where that
   * can't be told. A process of which nothing ran may be missing.
   */
  use(uuid: string): ReadonlyMap<number, number> | undefined;
  /** Whether there is a GPU, or a part of one (MIG), of that UUID; undefined where that can't be told. */
  knows(uuid: string): boolean | undefined;
}
