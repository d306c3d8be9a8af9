import type { ReadingName } from "#health";
import type { Vitals } from "../sensors/sensor.ts";
import type { HostPressure } from "./pressure.ts";

export type Values = Readonly<Record<ReadingName, number | undefined>>;

export interface Counts {
  readonly xids: number | undefined;
  readonly eccErrors: number | undefined;
}

/** Below this utilisation a GPU lowers its clock because there is little to do. */
const BUSY = 0.5;

const throttles = { none: 0, heat: 1, hardware: 2 } as const;

export function valuesOf(
  vitals: Vitals,
  counts: Counts,
  host: HostPressure,
  lateness: number | undefined,
): Values {
  const { memory, smActivity, throttle, temperatureC, slowdownC, rowsPending } = vitals;
  return {
    memory,
    temperature: both(temperatureC, slowdownC, (now, most) => now - most),
    throttle: throttle && throttles[throttle],
    clockLoss: clockLossOf(vitals),
    power: both(vitals.powerW, vitals.powerLimitW, (now, most) => now / most),
    smActivity,
    xids: counts.xids,
    eccErrors: counts.eccErrors,
    rowsPending: rowsPending === undefined ? undefined : Number(rowsPending),
    lateness,
    memoryPressure: host.memory,
    cpuPressure: host.cpu,
  };
}

function clockLossOf(vitals: Vitals): number | undefined {
  const { smClockMHz, mostSmClockMHz, utilisation, clocksSet } = vitals;
  if (utilisation === undefined) return undefined;
  if (utilisation < BUSY || clocksSet === true) return 0;
  return both(smClockMHz, mostSmClockMHz, (now, most) => Math.max(0, 1 - now / most));
}

const both = (
  one: number | undefined,
  other: number | undefined,
  from: (one: number, other: number) => number,
): number | undefined => (one === undefined || !other ? undefined : from(one, other));
