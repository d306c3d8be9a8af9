import type { Vitals } from "../sensors/sensor.ts";
import { openGpm } from "./gpm.ts";
import { type Device, type Nvml, newerFunction, OK, readU32 } from "./library.ts";
import { xidsOf } from "./xids.ts";

/** nvmlReturn_t: the GPU has fallen off the bus, or needs a reset. */
const lost = new Set([15, 16]);
const CLOCK_SM = 1;
const SENSOR_GPU = 0;
const SLOWDOWN_TEMPERATURE = 1;
const UNCORRECTED = 1;
const SINCE_DRIVER_LOAD = 0;

const reasons = {
  clocksSet: 0x2n,
  hardware: 0x8n,
  heat: 0x20n,
  heatByHardware: 0x40n,
  powerBrake: 0x80n,
};

const SAMPLES_BETWEEN = 10;

export function vitalsOf(nvml: Nvml, { handle, uuid }: Device, name?: string): () => Vitals {
  const bound = (declaration: string) => newerFunction(nvml.library, declaration);
  const temperature = bound("int nvmlDeviceGetTemperature(void *, int, void *)");
  const why = bound("int nvmlDeviceGetCurrentClocksThrottleReasons(void *, void *)");
  const seldom = seldomRead(nvml, handle);
  const xids = xidsOf(nvml, handle);
  const smActivity = activityOf(uuid, name);
  let looks = 0;
  let rest = seldom();
  return () => {
    if (looks++ % SAMPLES_BETWEEN === 0) rest = seldom();
    const { rowsFailed, ...others } = rest;
    const memory = new BigUint64Array(3); // total, free, used
    const status = nvml.memory(handle, memory);
    const [total = 0n, , used = 0n] = memory;
    const utilisation = new Uint32Array(2); // gpu, memory; per cent
    const bits = new BigUint64Array(1);
    const known = why(handle, bits) === OK ? bits[0] : undefined;
    return {
      uuid,
      unusable: lost.has(status)
        ? `the driver says "${nvml.describe(status)}"`
        : rowsFailed
          ? "a bad memory row could not be remapped"
          : undefined,
      memory: status === OK && total > 0n ? Number(used) / Number(total) : undefined,
      utilisation:
        nvml.utilisation(handle, utilisation) === OK ? (utilisation[0] ?? 0) / 100 : undefined,
      smActivity: smActivity(),
      smClockMHz: readU32((out) => nvml.clock(handle, CLOCK_SM, out)),
      clocksSet: known === undefined ? undefined : (known & reasons.clocksSet) !== 0n,
      throttle: known === undefined ? undefined : throttleIn(known),
      temperatureC: readU32((out) => temperature(handle, SENSOR_GPU, out)),
      powerW: watts(readU32((out) => nvml.power(handle, out))),
      xids: xids(),
      ...others,
    };
  };
}

function throttleIn(bits: bigint): Vitals["throttle"] {
  const { hardware, heatByHardware, powerBrake, heat } = reasons;
  if ((bits & (hardware | heatByHardware | powerBrake)) !== 0n) return "hardware";
  return (bits & heat) === 0n ? "none" : "heat";
}

function seldomRead(nvml: Nvml, handle: unknown) {
  const bound = (declaration: string) => newerFunction(nvml.library, declaration);
  const threshold = bound("int nvmlDeviceGetTemperatureThreshold(void *, int, void *)");
  const powerLimit = bound("int nvmlDeviceGetEnforcedPowerLimit(void *, void *)");
  const mostClock = bound("int nvmlDeviceGetMaxClockInfo(void *, int, void *)");
  const ecc = bound("int nvmlDeviceGetTotalEccErrors(void *, int, int, void *)");
  const rows = bound("int nvmlDeviceGetRemappedRows(void *, void *, void *, void *, void *)");
  const mig = bound("int nvmlDeviceGetMigMode(void *, void *, void *)");
  return () => {
    const errors = new BigUint64Array(1);
    // The four count corrected and uncorrected errors, and flag a pending one and a failed one.
    const remapped = Array.from({ length: 4 }, () => new Uint32Array(1));
    const [, , pending, failed] = rows(handle, ...remapped) === OK ? remapped : [];
    const divided = readU32((out) => mig(handle, out, new Uint32Array(1)));
    return {
      divided: divided === undefined ? undefined : divided === 1,
      slowdownC: readU32((out) => threshold(handle, SLOWDOWN_TEMPERATURE, out)),
      powerLimitW: watts(readU32((out) => powerLimit(handle, out))),
      mostSmClockMHz: readU32((out) => mostClock(handle, CLOCK_SM, out)),
      eccErrors:
        ecc(handle, UNCORRECTED, SINCE_DRIVER_LOAD, errors) === OK
          ? Number(errors[0] ?? 0n)
          : undefined,
      rowsPending: pending && pending[0] !== 0,
      rowsFailed: failed !== undefined && failed[0] !== 0,
    };
  };
}

function activityOf(uuid: string, name: string | undefined): () => number | undefined {
  const gpm = openGpm({ uuid }, name);
  let sample = gpm.sample();
  return () => {
    const earlier = sample;
    sample = gpm.sample();
    return gpm.between(earlier, sample).smActivity;
  };
}

const watts = (milliwatts: number | undefined) =>
  milliwatts === undefined ? undefined : milliwatts / 1000;
