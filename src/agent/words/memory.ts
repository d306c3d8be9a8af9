import { gibibytes } from "#core";
import type { AsOne } from "../status/jobs.ts";
import type { BestEffortStatus, HighStatus } from "../status/status.ts";
import { nameWithPids } from "./job.ts";

export function describeMovable(client: BestEffortStatus | AsOne<BestEffortStatus>): string[] {
  const { name, memory } = client;
  if (!memory) return [];
  const { state, bytes, parkedBytes, wanted, unmovableBytes, unmovable, parkedSeconds, reason } =
    memory;
  const { movable, byDriver } = memory;
  const who = nameWithPids(client);
  const rest =
    movable && !byDriver && unmovableBytes > 0
      ? `, ${gibibytes(unmovableBytes)} are not${unmovable.length > 0 ? `: ${unmovable.join(", ")}` : ""}`
      : "";
  const why = reason === undefined ? "" : `: ${reason}`;
  if (state === "parked")
    return [
      `${who} has been parked for ${(parkedSeconds ?? 0).toFixed(0)} s: ${gibibytes(parkedBytes)} of ${gibibytes(bytes)} are in host memory${byDriver ? ", by the driver's checkpoint of its process," : ""} until "cotenant resume ${name}", or until its turn if the agent parked it${rest}`,
    ];
  if (state === "parking") return [`${who} is being parked${rest}`];
  if (state === "returning") return [`${who} is to have its memory back${why}`];
  if (wanted > 0)
    return [`${who} waits for ${gibibytes(wanted)} until another job's memory is parked${rest}`];
  if (!movable) return reason === undefined ? [] : [`${who} stayed where it is: ${reason}`];
  const refused = reason === undefined ? "" : `; it stayed where it is: ${reason}`;
  return [`${who}: ${gibibytes(bytes)} of its memory are movable${rest}${refused}`];
}

export function describeSleep({ name, pid, memory }: HighStatus): string[] {
  if (!memory) return [];
  const { state, bytes, parkedSeconds, woken, firstAnswerMs, unmovable, reason } = memory;
  const who = `${name} (pid ${pid})`;
  const last =
    firstAnswerMs === undefined
      ? ""
      : `; the last request that woke it took ${(firstAnswerMs / 1000).toFixed(2)} s (${woken} so far)`;
  if (state === "parked")
    return [
      `${who} has slept for ${(parkedSeconds ?? 0).toFixed(0)} s: ${gibibytes(bytes)} are in host memory until its next request${last}`,
    ];
  if (state === "returning")
    return [`${who} wakes${reason === undefined ? "" : `, but ${reason}`}`];
  const others = unmovable.length > 0 ? `, not ${unmovable.join(", ")}` : "";
  const why = reason === undefined ? "" : `; it does not sleep: ${reason}`;
  return [`${who} sleeps when it is idle: ${gibibytes(bytes)} are movable${others}${last}${why}`];
}
