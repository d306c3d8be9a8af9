import type { HighStatus } from "../status/status.ts";

export interface UnitFigures {
  readonly perS: number | undefined;
  readonly p50Us: number | undefined;
  readonly p99Us: number | undefined;
  readonly waitP99Us: number | undefined;
}

export function unitFigures(client: HighStatus): UnitFigures {
  const { unit, steps, burstsPerS, burstP50Us, burstP99Us, burstWaitP99Us } = client;
  if (unit === "burst")
    return {
      perS: burstsPerS,
      p50Us: burstP50Us,
      p99Us: burstP99Us,
      waitP99Us: burstWaitP99Us,
    };
  return {
    perS: steps?.stepsPerS,
    p50Us: steps?.stepP50Us,
    p99Us: steps?.stepP99Us,
    waitP99Us: steps?.stepWaitP99Us,
  };
}
