// A reading that a GPU does not support is undefined, never zero.
import type { Bytes } from "#core";

export interface GpuReading {
  readonly uuid: string;
  readonly name: string;
  readonly error: string | undefined; // in the driver's words, such as "GPU is lost"
  readonly memoryTotal: Bytes | undefined;
  readonly memoryUsed: Bytes | undefined;
  readonly utilisation: number | undefined; // part of the last second in which a kernel ran
  readonly memoryUtilisation: number | undefined; // part of it in which memory was read or written
  readonly smClockMHz: number | undefined;
  readonly powerW: number | undefined;
  readonly processes: readonly GpuProcess[]; // with a context of their own
  readonly mpsProcesses: readonly GpuProcess[]; // whose contexts an MPS server holds
}

export interface GpuProcess {
  readonly pid: number; // as this process sees it
  readonly memory: Bytes | undefined;
}

export interface Vitals {
  readonly uuid: string;
  readonly unusable: string | undefined; // why the GPU can't be used
  readonly divided: boolean | undefined; // into instances (MIG)
  readonly memory: number | undefined; // part in use
  readonly utilisation: number | undefined;
  readonly smActivity: number | undefined; // of the SMs' time since the last sample
  readonly smClockMHz: number | undefined;
  readonly mostSmClockMHz: number | undefined;
  readonly clocksSet: boolean | undefined; // by somebody, below their maximum
  /** Heat is found by the driver; hardware means heat or power. */
  readonly throttle: "none" | "heat" | "hardware" | undefined;
  readonly temperatureC: number | undefined;
  readonly slowdownC: number | undefined; // from there on the GPU slows itself down
  readonly powerW: number | undefined;
  readonly powerLimitW: number | undefined;
  readonly eccErrors: number | undefined; // uncorrected, since the driver was loaded
  readonly rowsPending: boolean | undefined; // rows that wait for a reset to be remapped
  readonly xids: readonly number[] | undefined; // since the last sample
}

export interface Sensor {
  read(): readonly GpuReading[]; // in the driver's order
  vitals(): readonly Vitals[];
  /** Kernel time in ns by pid, since the sensor was opened; an idle process may be missing. */
  use(uuid: string): ReadonlyMap<number, number> | undefined;
  free(uuid: string): number | undefined; // bytes
  knows(uuid: string): boolean | undefined;
}
