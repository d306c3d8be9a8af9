// The arrivals of a round, as the file that every window of the round is played from.
import { readFileSync } from "node:fs";
import { usage } from "#core";
import { arrivalTimes, seeded, traceSchedule } from "#load";
import type { Arriving } from "./scenario.ts";

/** The mean load; undefined where it changes, or where there is always another request. */
export const loadOf = (arriving: Arriving): number | undefined =>
  arriving.kind === "closed" || arriving.kind === "steps"
    ? undefined
    : arriving.kind === "trace"
      ? arriving.trace.rate
      : arriving.rate;

/**
 * ns offsets, one a line, for a window of so many seconds; undefined for a closed loop. `serviceNs`: what a
 * request takes alone. Each round has others: drawn anew, or the next stretch of a trace.
 */
export function arrivalText(
  arriving: Arriving,
  serviceNs: number,
  seconds: number,
  round: number,
): string | undefined {
  const perS = 1e9 / serviceNs;
  const random = seeded(round + 1);
  switch (arriving.kind) {
    case "closed":
      return undefined;
    case "trace":
      return lines(stretch(arriving.trace, perS, seconds, round));
    case "steps": {
      const steps = arriving.steps.map((step) => ({ ...step, rate: step.rate * perS }));
      const times = arrivalTimes({ ...arriving, steps }, seconds, random);
      return lines(times.filter((t) => t < seconds * 1e9));
    }
    default:
      return lines(arrivalTimes({ ...arriving, rate: arriving.rate * perS }, seconds, random));
  }
}

/** A window's part of a trace that is played at the wanted mean rate, again from the start at its end. */
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

/** Also said before anything starts, by asking for the arrivals once. */
function readTrace(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw usage(`The trace ${path} can't be read.`);
  }
}

const lines = (offsets: readonly number[]) => offsets.map((offset) => `${offset}\n`).join("");
