import { type Nvml, newerFunction, OK } from "./library.ts";

const XID_EVENT = 0x8n; // nvmlEventTypeXidCriticalError
// nvmlEventData_t holds the GPU's handle, u64 eventType, u64 eventData (the XID), u32 gpuInstance,
// u32 computeInstance.
const EVENT_BYTES = 32;
/** A GPU that reports errors without end must stop nobody. */
const MAX_CONCURRENT = 16;

export function xidsOf(nvml: Nvml, handle: unknown): () => readonly number[] | undefined {
  const bound = (declaration: string) => newerFunction(nvml.library, declaration);
  const create = bound("int nvmlEventSetCreate(void *)");
  const register = bound("int nvmlDeviceRegisterEvents(void *, uint64_t types, void *)");
  const wait = bound("int nvmlEventSetWait_v2(void *, void *, unsigned int)");
  const out = new BigUint64Array(1);
  const set = create(out) === OK ? out[0] : undefined;
  if (set === undefined || register(handle, XID_EVENT, set) !== OK) return () => undefined;
  return () => {
    const found: number[] = [];
    const raw = new DataView(new ArrayBuffer(EVENT_BYTES));
    for (let i = 0; i < MAX_CONCURRENT && wait(set, new Uint8Array(raw.buffer), 0) === OK; i++)
      if (raw.getBigUint64(8, true) === XID_EVENT) found.push(Number(raw.getBigUint64(16, true)));
    return found;
  };
}
