// Readings of the machine's GPUs from outside any client. Two implementations: nvml.ts and softgpu.ts. A reading that
// a GPU does not support is undefined, never zero.
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

/** The readings that SysMonitor judges, several times a second. */
export interface Vitals {
  readonly uuid: string;
  /** Why the GPU can't be used, in words; undefined while it can, as far as the driver knows. */
  readonly unusable: string | undefined;
  /** It is divided into instances (MIG). */
  readonly divided: boolean | undefined;
  /** Part of its memory that is in use. */
  readonly memory: number | undefined;
  /** As in a reading. */
  readonly utilisation: number | undefined;
  /** Part of the SMs' time since the last sample in which a warp was resident. */
  readonly smActivity: number | undefined;
  readonly smClockMHz: number | undefined;
  readonly mostSmClockMHz: number | undefined;
  /** Somebody fixed the clocks below their maximum. */
  readonly clocksSet: boolean | undefined;
  /** The reason of a reduced clock: none, heat (by the driver), or hardware (heat or power). */
  readonly throttle: "none" | "heat" | "hardware" | undefined;
  readonly temperatureC: number | undefined;
  /** From there on the GPU slows itself down. */
  readonly slowdownC: number | undefined;
  readonly powerW: number | undefined;
  readonly powerLimitW: number | undefined;
  /** Uncorrected ones since the driver was loaded. */
  readonly eccErrors: number | undefined;
  /** Bad memory rows wait for a reset to be remapped. */
  readonly rowsPending: boolean | undefined;
  /** XID errors since the last sample. */
  readonly xids: readonly number[] | undefined;
}

export interface Sensor {
  /** One reading per GPU, in the driver's order. */
  read(): readonly GpuReading[];
  /** The same GPUs. The interval between two calls is what means are over. */
  vitals(): readonly Vitals[];
  /**
   * For how long kernels of each process have run on that GPU, in ns since the sensor was opened, by pid; undefined where that
   * can't be told. A process of which nothing ran may be missing.
   */
  use(uuid: string): ReadonlyMap<number, number> | undefined;
  /** Bytes of its memory that are free at this moment; undefined where that can't be told. */
  free(uuid: string): number | undefined;
  /** Whether there is a GPU, or a part of one (MIG), of that UUID; undefined where that can't be told. */
  knows(uuid: string): boolean | undefined;
}
