// What a group costs on each accelerator, from its description.
import { isObject, type Json, type Place, shown } from "./place.ts";
import type { Accelerator } from "./types.ts";

export interface Described extends Accelerator {
  /** A black box: the accelerator whose demand tells its own (HaX-CoNN, section 3.3). */
  readonly demandFrom: string | undefined;
}

export function readCosts(place: Place, accelerators: readonly Described[], limit: number) {
  const known = accelerators.map(({ name }) => name);
  const table = (key: string): Json => {
    const found = place.value[key] ?? {};
    if (!isObject(found))
      throw place.bad(`its ${key} is not an object with a number per accelerator.`);
    const stranger = Object.keys(found).find((name) => !known.includes(name));
    if (stranger !== undefined)
      throw place.bad(
        `its ${key} names "${stranger}", which is no accelerator here.`,
        `Known: ${known.join(", ")}.`,
      );
    return found;
  };
  const each = (key: string, fallback: number) => {
    const found = table(key);
    return known.map((name) =>
      found[name] === undefined ? fallback : place.quantity(found[name], `its ${key} on ${name}`),
    );
  };
  const times = table("timeMs");
  const missing = known.find((name) => times[name] === undefined);
  if (missing !== undefined)
    throw place.bad(`its time on ${missing} is missing.`, `Write null if ${missing} can't run it.`);
  const timeMs = known.map((name) => {
    if (times[name] === null) return Infinity;
    const time = place.quantity(times[name], `its time on ${name}`);
    if (time < LEAST_TIME_MS) throw place.bad(`its time on ${name} is below a nanosecond.`);
    return time;
  });
  if (!timeMs.some(Number.isFinite)) throw place.bad("no accelerator can run it.");
  return {
    timeMs,
    demand: readDemand(place, accelerators, timeMs, table("demand"), table("emc"), limit),
    outMs: each("outMs", 0),
    inMs: each("inMs", 0),
    energyMj: each("energyMj", 0),
  };
}

/** Shorter would be lost among events that count as one moment. */
const LEAST_TIME_MS = 1e-6;

/**
 * As given; on a black box from another accelerator's: divided by the ratio of the two's memory-controller
 * utilisation where that was measured (HaX-CoNN, section 3.3, step 3), else the same traffic over its own time.
 */
function readDemand(
  place: Place,
  accelerators: readonly Described[],
  timeMs: readonly number[],
  given: Json,
  emc: Json,
  limit: number,
): number[] {
  const known = accelerators.map(({ name }) => name);
  return accelerators.map(({ name, demandFrom }, a) => {
    if (!Number.isFinite(timeMs[a])) return 0;
    let demand: number;
    if (given[name] !== undefined) demand = place.quantity(given[name], `its demand on ${name}`);
    else if (demandFrom === undefined) throw place.bad(`its demand on ${name} is missing.`);
    else {
      const from = known.indexOf(demandFrom);
      if (from < 0)
        throw place.bad(
          `${name} takes its demand from "${demandFrom}", which is no accelerator here.`,
        );
      if (given[demandFrom] === undefined)
        throw place.bad(
          `its demand on ${demandFrom} is missing, from which that on ${name} follows.`,
        );
      const source = place.quantity(given[demandFrom], `its demand on ${demandFrom}`);
      if (emc[name] !== undefined && emc[demandFrom] !== undefined) {
        const own = place.quantity(emc[name], `its emc on ${name}`);
        const other = place.quantity(emc[demandFrom], `its emc on ${demandFrom}`);
        if (other === 0) throw place.bad(`its emc on ${demandFrom} is 0.`);
        demand = blackBoxDemand(source, other, own);
      } else if (Number.isFinite(timeMs[from]))
        demand = (source * (timeMs[from] ?? 0)) / (timeMs[a] ?? 1);
      else
        throw place.bad(
          `its demand on ${name} can't follow from ${demandFrom}, which can't run it.`,
        );
    }
    if (demand > limit)
      throw place.bad(
        `its demand on ${name} is ${shown(demand)}, more than the memory's limit of ${limit}.`,
      );
    return demand;
  });
}

/** HaX-CoNN, section 3.3: throughput where it can be measured / (utilisation there / utilisation here). */
const blackBoxDemand = (measured: number, emcThere: number, emcHere: number): number =>
  measured / (emcThere / emcHere);
