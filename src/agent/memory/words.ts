// What is said of movable memory in sentences.
import { gibibytes } from "#core";
import type { BestEffortStatus } from "../status.ts";

/** Nothing for a client that was started without --movable. */
export function describeMovable({ name, pid, memory }: BestEffortStatus): string[] {
  if (!memory) return [];
  const { state, bytes, unmovableBytes, unmovable, parkedSeconds, reason } = memory;
  const who = `${name} (pid ${pid})`;
  const rest =
    unmovableBytes > 0
      ? `, ${gibibytes(unmovableBytes)} are not${unmovable.length > 0 ? `: ${unmovable.join(", ")}` : ""}`
      : "";
  const why = reason === undefined ? "" : `: ${reason}`;
  if (state === "parked")
    return [
      `${who} has been parked for ${(parkedSeconds ?? 0).toFixed(0)} s: ${gibibytes(bytes)} are in host memory until "cotenant resume ${name}"${rest}`,
    ];
  if (state === "parking") return [`${who} is being parked${rest}`];
  if (state === "returning") return [`${who} is to have its memory back${why}`];
  const refused = reason === undefined ? "" : `; it was not parked: ${reason}`;
  return [`${who}: ${gibibytes(bytes)} of its memory are movable${rest}${refused}`];
}
