// Facts that NVML reports; undefined where a driver or a GPU does not report one.
import { load, OK, openDevice, readU32 } from "./library.ts";

export interface GpuFacts {
  readonly name: string;
  readonly uuid: string;
  readonly divided: boolean | undefined;
  readonly virtual: boolean | undefined;
  readonly contexts: "several" | "one" | "none" | undefined;
  readonly persistent: boolean | undefined;
  readonly smClockMHz: number | undefined;
  readonly mostSmClockMHz: number | undefined;
  /** It is empty also where the GPU is idle. */
  readonly slowedBy: readonly string[];
}

export interface DriverFacts {
  readonly version: string;
  readonly cuda: string | undefined; // such as "13.0"
  readonly gpus: readonly GpuFacts[];
}

/** The bits of nvmlClocksEventReasons that neither a program's settings nor an idle GPU explain. */
const slowdowns: readonly (readonly [bigint, string])[] = [
  [0x2n, "clocks that were set"],
  [0x4n, "the power limit"],
  [0x8n, "the hardware"],
  [0x20n, "heat"],
  [0x40n, "heat, by the hardware"],
  [0x80n, "the power supply"],
];

const CLOCK_SM = 1;
const VIRTUAL_GPU = 2;
/** The keys are those of nvmlComputeMode_t. */
const contextsOf: Readonly<Record<number, GpuFacts["contexts"]>> = {
  0: "several",
  1: "one",
  2: "none",
  3: "one",
};

/** Returns a text if the driver does not answer, undefined without the library. */
export function driverFacts(name?: string): DriverFacts | string | undefined {
  const nvml = load(name);
  if (!nvml) return undefined;
  const status = nvml.init();
  if (status !== OK) return nvml.describe(status);
  const optional = (signature: string) => {
    try {
      return nvml.library.func(signature);
    } catch {
      return undefined; // an older driver
    }
  };
  const one = (symbol: string) => optional(`int ${symbol}(void *, void *)`);
  const calls = {
    mig: optional("int nvmlDeviceGetMigMode(void *, void *, void *)"),
    virtual: one("nvmlDeviceGetVirtualizationMode"),
    compute: one("nvmlDeviceGetComputeMode"),
    persistence: one("nvmlDeviceGetPersistenceMode"),
    reasons: one("nvmlDeviceGetCurrentClocksThrottleReasons"),
    most: optional("int nvmlDeviceGetMaxClockInfo(void *, int, void *)"),
    cuda: optional("int nvmlSystemGetCudaDriverVersion_v2(void *)"),
  };
  const count = readU32((out) => nvml.count(out)) ?? 0;
  const cuda = calls.cuda && readU32((out) => calls.cuda?.(out));
  return {
    version: nvml.driver(),
    cuda: cuda === undefined ? undefined : `${Math.floor(cuda / 1000)}.${(cuda % 1000) / 10}`,
    gpus: Array.from({ length: count }, (_, index) => {
      const { handle, uuid, name } = openDevice(nvml, index);
      const read = (call: ReturnType<typeof one>) => call && readU32((out) => call(handle, out));
      const pending = new Uint32Array(1);
      const divided = calls.mig && readU32((out) => calls.mig?.(handle, out, pending));
      const virtual = read(calls.virtual);
      const persistent = read(calls.persistence);
      const reasons = new BigUint64Array(1);
      const known = calls.reasons?.(handle, reasons) === OK;
      return {
        name,
        uuid,
        divided: divided === undefined ? undefined : divided === 1,
        virtual: virtual === undefined ? undefined : virtual === VIRTUAL_GPU,
        contexts: contextsOf[read(calls.compute) ?? -1],
        persistent: persistent === undefined ? undefined : persistent === 1,
        smClockMHz: readU32((out) => nvml.clock(handle, CLOCK_SM, out)),
        mostSmClockMHz: calls.most && readU32((out) => calls.most?.(handle, CLOCK_SM, out)),
        slowedBy: slowdowns
          .filter(([bit]) => known && ((reasons[0] ?? 0n) & bit) !== 0n)
          .map(([, why]) => why),
      };
    }),
  };
}
