// Reads the costs of a group on each accelerator from its description.
import type { Field } from "#core";
import type { Accelerator } from "./types.ts";

export interface Described extends Accelerator {
  /** For a black box: the accelerator from whose demand its own is derived (HaX-CoNN, section 3.3). */
  readonly demandFrom: string | undefined;
}

export function readCosts(group: Field, accelerators: readonly Described[], limit: number) {
  const known = accelerators.map(({ name }) => name);
  /** Reads an object with a number for each accelerator. An accelerator that is left out has no value. */
  const table = (key: string): readonly Field[] => {
    const given = group.at(key).or({});
    for (const [name, stranger] of given.entries())
      if (!known.includes(name))
        throw stranger.bad("is for no accelerator here.", `Known: ${known.join(", ")}.`);
    return known.map((name) => given.at(name));
  };
  const each = (key: string, fallback: number) =>
    table(key).map((one) => one.or(fallback).number());
  const timeMs = table("timeMs").map((time, a) => {
    if (time.missing) throw time.bad("is missing.", `Write null if ${known[a]} can't run it.`);
    return time.value === null ? Infinity : time.number({ least: MIN_TIME_MS });
  });
  if (!timeMs.some(Number.isFinite)) throw group.at("timeMs").bad("no accelerator can run it.");
  return {
    timeMs,
    demand: readDemand(accelerators, timeMs, table("demand"), table("emc"), limit),
    outMs: each("outMs", 0),
    inMs: each("inMs", 0),
    energyMj: each("energyMj", 0),
  };
}

/** A shorter time would be lost, because events that are this close count as one moment. */
const MIN_TIME_MS = 1e-6;

/**
 * The demand as given. On a black box it is derived from another accelerator's: divided by the ratio of the two
 * memory-controller utilisations if those were measured (HaX-CoNN, section 3.3, step 3), else the same traffic over the
 * black box's own time.
 */
function readDemand(
  accelerators: readonly Described[],
  timeMs: readonly number[],
  given: readonly Field[],
  emc: readonly Field[],
  limit: number,
): number[] {
  return accelerators.map(({ name, demandFrom }, a) => {
    const [own, time = Infinity] = [given[a], timeMs[a]];
    if (!own || !Number.isFinite(time)) return 0;
    const from = accelerators.findIndex((one) => one.name === demandFrom);
    const demand = own.missing && from >= 0 ? deriveDemand(own, from, a) : own.number();
    if (demand > limit)
      throw own.bad(`is ${demand} on ${name}, more than the memory's limit of ${limit}.`);
    return demand;
  });

  function deriveDemand(own: Field, from: number, a: number): number {
    const source = given[from]?.number() ?? 0;
    const [here, there] = [emc[a], emc[from]];
    if (here && there && !here.missing && !there.missing)
      return blackBoxDemand(source, there.number({ above: 0 }), here.number());
    const [time = Infinity, other = Infinity] = [timeMs[a], timeMs[from]];
    if (Number.isFinite(other)) return (source * other) / time;
    throw own.bad(`can't follow from ${accelerators[from]?.name}, which can't run the group.`);
  }
}

/**
 * HaX-CoNN, section 3.3: the throughput where it can be measured, divided by (utilisation there / utilisation here).
 */
const blackBoxDemand = (measured: number, emcThere: number, emcHere: number): number =>
  measured / (emcThere / emcHere);
