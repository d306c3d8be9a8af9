// A missing reading keeps its last grade for a moment and is unhealthy after that. One that was
// never there is not judged.
import type { Assessment } from "./monitor.ts";

/** A reading is worse the greater it is. */
export interface Thresholds {
  readonly healthyBelow: number;
  readonly unhealthyFrom: number;
  readonly overlimitFrom: number; // Infinity: this reading alone never makes it Overlimit
}

export interface Limits extends Thresholds {
  readonly forSeconds: number; // seconds that a reading must be at the threshold
}

export interface Wording {
  readonly title: string;
  show(value: number): string;
}

export interface Track {
  readonly value: number;
  readonly at: number;
  readonly unhealthySince: number | undefined; // undefined: below the threshold
  readonly overlimitSince: number | undefined;
}

export type Tracks<Name extends string> = ReadonlyMap<Name, Track>;
export const MISSED_AFTER = 5; // seconds; NVML answers within milliseconds

/** Returns undefined if it was never read. */
export function follow(
  track: Track | undefined,
  now: number,
  value: number | undefined,
  limits: Limits,
): Track | undefined {
  if (value === undefined || Number.isNaN(value)) return track;
  const since = (from: number, before: number | undefined) =>
    value >= from ? (before ?? now) : undefined;
  return {
    value,
    at: now,
    unhealthySince: since(limits.unhealthyFrom, track?.unhealthySince),
    overlimitSince: since(limits.overlimitFrom, track?.overlimitSince),
  };
}

export function assessmentAt(
  value: number,
  { healthyBelow, unhealthyFrom, overlimitFrom }: Thresholds,
  { title, show }: Wording,
): Assessment {
  const told = (grade: "unhealthy" | "overlimit", from: number): Assessment => ({
    grade,
    cause: `${title} ${show(value)}, ${grade} from ${show(from)}`,
  });
  if (value >= overlimitFrom) return told("overlimit", overlimitFrom);
  if (value >= unhealthyFrom) return told("unhealthy", unhealthyFrom);
  if (value < healthyBelow)
    return { grade: "healthy", cause: "all readings are below their thresholds" };
  return {
    grade: "between",
    cause: `${title} ${show(value)}, healthy below ${show(healthyBelow)}`,
  };
}

export function assessmentIn(
  track: Track,
  now: number,
  limits: Limits,
  wording: Wording,
): Assessment {
  const { value, at, unhealthySince, overlimitSince } = track;
  const lasted = (since: number | undefined) =>
    since !== undefined && now - since >= limits.forSeconds;
  const seen = assessmentAt(
    value,
    {
      healthyBelow: limits.healthyBelow,
      unhealthyFrom: lasted(unhealthySince) ? limits.unhealthyFrom : Infinity,
      overlimitFrom: lasted(overlimitSince) ? limits.overlimitFrom : Infinity,
    },
    wording,
  );
  const missing = now - at;
  const isJudged = limits.unhealthyFrom < Infinity;
  if (!isJudged || missing <= MISSED_AFTER || seen.grade === "overlimit") return seen;
  const cause = `${wording.title} has not been read for ${missing.toFixed(0)} s; it was ${wording.show(value)}`;
  return { grade: "unhealthy", cause };
}

const order = ["healthy", "between", "unhealthy", "overlimit", "unavailable"] as const;

export const worstOf = (all: readonly Assessment[]): Assessment =>
  all.reduce(
    (worst, one) => (order.indexOf(one.grade) > order.indexOf(worst.grade) ? one : worst),
    { grade: "healthy", cause: "all readings are below their thresholds" },
  );
