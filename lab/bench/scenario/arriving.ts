// The arrivals of a round, the same for every window of the round.
import { errors, readInput, sfc32 } from "#core";
import { arrivalTimes, traceSchedule } from "#load";
import type { Arriving } from "./scenario.ts";

/** The mean load; undefined if it changes, and for a closed loop. */
export const loadOf = (arriving: Arriving): number | undefined =>
  arriving.kind === "closed" || arriving.kind === "steps"
    ? undefined
    : arriving.kind === "trace"
      ? arriving.trace.rate
      : arriving.rate;

/**
 * Offsets in ns for a window of this many seconds; undefined for a closed loop. `serviceNs`: the time of a request alone.
 * Each round has different arrivals: newly drawn ones, or the next part of a trace. Another seed, up to 2^20, changes
 * the arrivals of all rounds.
 */
export function arrivalOffsets(
  arriving: Arriving,
  serviceNs: number,
  seconds: number,
  round: number,
  seed = 0,
): number[] | undefined {
  const perS = 1e9 / serviceNs;
  const random = sfc32(seed * 2 ** 32 + round + 1);
  switch (arriving.kind) {
    case "closed":
      return undefined;
    case "trace":
      return stretch(arriving.trace, perS, seconds, round);
    case "steps": {
      const steps = arriving.steps.map((step) => ({ ...step, rate: step.rate * perS }));
      const times = arrivalTimes({ ...arriving, steps }, seconds, random);
      return times.filter((t) => t < seconds * 1e9);
    }
    default:
      return arrivalTimes({ ...arriving, rate: arriving.rate * perS }, seconds, random);
  }
}

/** The same as text for a file, one offset a line. */
export const arrivalText = (
  ...of: readonly [arriving: Arriving, serviceNs: number, seconds: number, round: number]
): string | undefined =>
  arrivalOffsets(...of)
    ?.map((offset) => `${offset}\n`)
    .join("");

/** A window's part of a trace, played at the wanted mean rate. After its end the trace starts again. */
function stretch(
  trace: Extract<Arriving, { kind: "trace" }>["trace"],
  perS: number,
  seconds: number,
  round: number,
): number[] {
  const whole = traceSchedule(readTrace(trace.path), { ...trace, rate: (trace.rate ?? 0) * perS });
  const length = whole.seconds * 1e9;
  const from = (round * seconds * 1e9) % length;
  const again = Math.ceil((seconds * 1e9 + from) / length);
  return Array.from({ length: again }, (_, turn) => turn * length)
    .flatMap((begin) => whole.offsets.map((offset) => Math.floor(begin + offset - from)))
    .filter((offset) => offset >= 0 && offset < seconds * 1e9);
}

/** Arrivals are computed once before anything starts, so errors in a trace are found then. */
function readTrace(path: string): string {
  try {
    return readInput(path).toString();
  } catch (error) {
    throw errors.inputNotRead("trace", path, error);
  }
}
