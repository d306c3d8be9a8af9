import koffi from "koffi";

export const OK = 0;
export const LIBRARY = "libnvidia-ml.so.1";
const VERSION_BYTES = 80;
const UUID_BYTES = 96;
const NAME_BYTES = 96;
const NO_FUNCTION = 13;

export type Nvml = NonNullable<ReturnType<typeof load>>;

export interface Device {
  readonly handle: ReturnType<Nvml["device"]>;
  /** It is read at once, because a GPU that is lost later answers nothing. */
  readonly uuid: string;
  readonly name: string;
}

/** Returns undefined if the library is not installed. */
export function load(name = LIBRARY) {
  let library: ReturnType<typeof koffi.load>;
  try {
    library = koffi.load(name);
  } catch {
    return undefined;
  }
  const byIndex = library.func("int nvmlDeviceGetHandleByIndex_v2(unsigned int, _Out_ void **)");
  const version = library.func("int nvmlSystemGetDriverVersion(void *, unsigned int)");
  const byUuid = library.func("int nvmlDeviceGetHandleByUUID(const char *, _Out_ void **)");
  return {
    library,
    init: library.func("int nvmlInit_v2()"),
    describe: library.func("const char *nvmlErrorString(int)"),
    driver: () => readText(VERSION_BYTES, (out, size) => version(out, size)),
    count: library.func("int nvmlDeviceGetCount_v2(void *)"),
    uuid: library.func("int nvmlDeviceGetUUID(void *, void *, unsigned int)"),
    name: library.func("int nvmlDeviceGetName(void *, void *, unsigned int)"),
    memory: library.func("int nvmlDeviceGetMemoryInfo(void *, void *)"),
    utilisation: library.func("int nvmlDeviceGetUtilizationRates(void *, void *)"),
    clock: library.func("int nvmlDeviceGetClockInfo(void *, int, void *)"),
    power: library.func("int nvmlDeviceGetPowerUsage(void *, void *)"),
    processes: library.func("int nvmlDeviceGetComputeRunningProcesses_v3(void *, void *, void *)"),
    mpsProcesses: newerFunction(
      library,
      "int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *, void *, void *)",
    ),
    device(index: number) {
      const out = [null];
      byIndex(index, out);
      return out[0];
    },
    byUuid(uuid: string) {
      const out = [null];
      const status: number = byUuid(uuid, out);
      return { status, device: out[0] };
    },
  };
}

export function openDevice(nvml: Nvml, index: number): Device {
  const handle = nvml.device(index);
  return {
    handle,
    uuid: readText(UUID_BYTES, (out, size) => nvml.uuid(handle, out, size)),
    name: readText(NAME_BYTES, (out, size) => nvml.name(handle, out, size)),
  };
}

/** Older drivers lack the function: then it returns NO_FUNCTION. */
export function newerFunction(
  library: ReturnType<typeof koffi.load>,
  declaration: string,
): (...given: readonly unknown[]) => number {
  try {
    return library.func(declaration);
  } catch {
    return () => NO_FUNCTION;
  }
}

export function readU32(call: (out: Uint32Array) => number): number | undefined {
  const out = new Uint32Array(1);
  return call(out) === OK ? out[0] : undefined;
}

function readText(size: number, call: (out: Uint8Array, size: number) => number): string {
  const out = new Uint8Array(size);
  if (call(out, size) !== OK) return "";
  return new TextDecoder().decode(out.subarray(0, out.indexOf(0)));
}

export function driverVersion(name = LIBRARY): string | undefined {
  const nvml = load(name);
  if (!nvml || nvml.init() !== OK) return undefined;
  return nvml.driver() || undefined;
}
