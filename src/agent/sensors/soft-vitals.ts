import { readFileSync, statSync } from "node:fs";
import type { GpuReading, Vitals } from "./sensor.ts";

export const unknownVitals = (uuid: string): Vitals => ({
  uuid,
  unusable: undefined,
  divided: undefined,
  memory: undefined,
  utilisation: undefined,
  smActivity: undefined,
  smClockMHz: undefined,
  mostSmClockMHz: undefined,
  clocksSet: undefined,
  throttle: undefined,
  temperatureC: undefined,
  slowdownC: undefined,
  powerW: undefined,
  powerLimitW: undefined,
  eccErrors: undefined,
  rowsPending: undefined,
  xids: undefined,
});

type Pretended = Readonly<Record<string, Partial<Vitals>>>;

/**
 * `vitals.json` has values by UUID, or for "all", instead of the real ones; null is a value that
 * can't be read. XID errors are reported once for each version of the file.
 */
export function openSoftVitals(folder: string) {
  const path = `${folder}/vitals.json`;
  let version = "";
  let pretended: Pretended = {};
  const isChanged = (): boolean => {
    const found = statSync(path, { throwIfNoEntry: false });
    const now = found ? `${found.ino} ${found.mtimeMs} ${found.size}` : "";
    if (now === version) return false;
    try {
      pretended = found ? JSON.parse(readFileSync(path, "utf8")) : {};
    } catch {
      return false; // half written: the next sample tries again
    }
    version = now;
    return true;
  };
  return (gpus: readonly GpuReading[]): readonly Vitals[] => {
    const changed = isChanged();
    return gpus.map(({ uuid, memoryTotal, memoryUsed }) => {
      const used = memoryTotal && memoryUsed !== undefined ? memoryUsed / memoryTotal : undefined;
      const said = { ...pretended.all, ...pretended[uuid] };
      const { xids = [], ...values } = Object.fromEntries(
        Object.entries(said).map(([name, value]) => [name, value ?? undefined]),
      ) as Partial<Vitals>;
      const known = { ...unknownVitals(uuid), memory: used, ...values };
      return { ...known, xids: changed ? xids : [] };
    });
  };
}
