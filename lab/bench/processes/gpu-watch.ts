// Measures the GPU during a window: its activity by the hardware's counters (NVML GPM), its clock and power by readings
// at intervals.

import type { Gpm, Sensor } from "#agent";
import { mean } from "#measure";
import type { GpuFigures } from "../scenario/result.ts";

const READ_EVERY_MS = 100;

export interface GpuWatch {
  /** undefined if nothing can be read, as on the software GPU. */
  begin(): { end(): GpuFigures } | undefined;
}

export const noGpuWatch: GpuWatch = { begin: () => undefined };

/** `index`: the GPU's in the sensor's order. */
export const gpuWatch = (sensor: Sensor, gpm: Gpm, index: number): GpuWatch => ({
  begin() {
    const first = gpm.sample();
    const clocks: number[] = [];
    const powers: number[] = [];
    const timer = setInterval(() => {
      const reading = sensor.read()[index];
      if (reading?.smClockMHz !== undefined) clocks.push(reading.smClockMHz);
      if (reading?.powerW !== undefined) powers.push(reading.powerW);
    }, READ_EVERY_MS);
    return {
      end() {
        clearInterval(timer);
        const { smActivity, dramActivity, pcieInMiBs } = gpm.between(first, gpm.sample());
        const [smClockMHz, powerW] = [meanOf(clocks), meanOf(powers)];
        return { smActivity, dramActivity, pcieInMiBs, smClockMHz, powerW };
      },
    };
  },
});

/** The mean of the values that were read; undefined if there are none. */
export const meanOf = (values: readonly (number | undefined)[]): number | undefined => {
  const read = values.filter((value) => value !== undefined);
  return read.length === 0 ? undefined : mean(read);
};
