// Slices make an engine's queue longer than they last.
import type { RequestSample } from "./requests.ts";

export interface Queue {
  readonly waiting: number; // averages the last second
  readonly perS: number; // first tokens a second
}

export const noQueue: Queue = { waiting: 0, perS: 0 };

const WAITING_MS = 1000;
const RATE_MS = 10_000;
const PART = 0.5;
const MIN_WAITING = 2; // fewer are in the next step

export function withQueue(was: Queue, requests: RequestSample, passedMs: number): Queue {
  if (passedMs <= 0) return was;
  const towards = (before: number, now: number, ms: number) =>
    before + (1 - Math.exp(-passedMs / ms)) * (now - before);
  const perS = (1000 * (requests?.ttft?.values ?? 0)) / passedMs;
  return {
    waiting: towards(was.waiting, requests?.waiting ?? was.waiting, WAITING_MS),
    perS: towards(was.perS, perS, RATE_MS),
  };
}

/** By Little's law a request waits as long as the engine takes to begin with all that wait. */
export const isFull = ({ waiting, perS }: Queue, limitUs: number): boolean =>
  waiting > Math.max(MIN_WAITING, (PART * perS * limitUs) / 1e6);
