// A reading that a GPU does not support is undefined, never zero.
import type { Bytes } from "#core";

export interface GpuReading {
  readonly uuid: string;
  readonly name: string;
  readonly error: string | undefined; // the driver says this, such as "GPU is lost"
  readonly memoryTotal: Bytes | undefined;
  readonly memoryUsed: Bytes | undefined;
  readonly utilisation: number | undefined; // a kernel ran in this part of the last second
  readonly memoryUtilisation: number | undefined; // memory was read or written in this part
  readonly smClockMHz: number | undefined;
  readonly powerW: number | undefined;
  readonly processes: readonly GpuProcess[]; // they have contexts of their own
  readonly mpsProcesses: readonly GpuProcess[]; // an MPS server holds their contexts
}

export interface GpuProcess {
  readonly pid: number; // the pid is that of this process's namespace
  readonly memory: Bytes | undefined;
}

export interface Vitals {
  readonly uuid: string;
  readonly unusable: string | undefined;
  readonly divided: boolean | undefined; // it has instances (MIG)
  readonly memory: number | undefined; // a part of it is in use: 0 to 1
  readonly utilisation: number | undefined;
  readonly smActivity: number | undefined; // 0 to 1, since the last sample
  readonly smClockMHz: number | undefined;
  readonly mostSmClockMHz: number | undefined;
  readonly clocksSet: boolean | undefined; // somebody set them below their maximum
  /** Heat is found by the driver; hardware means heat or power. */
  readonly throttle: "none" | "heat" | "hardware" | undefined;
  readonly temperatureC: number | undefined;
  readonly slowdownC: number | undefined; // from this temperature the GPU slows itself down
  readonly powerW: number | undefined;
  readonly powerLimitW: number | undefined;
  readonly eccErrors: number | undefined; // counts uncorrected ones since the driver was loaded
  readonly rowsPending: boolean | undefined;
  readonly xids: readonly number[] | undefined; // counts from the last sample
}

export interface Sensor {
  read(): readonly GpuReading[]; // the order is the driver's
  vitals(): readonly Vitals[];
  /** Kernel time in ns by pid, since the sensor was opened; an idle process may be missing. */
  use(uuid: string): ReadonlyMap<number, number> | undefined;
  free(uuid: string): number | undefined; // bytes
  knows(uuid: string): boolean | undefined;
}
