// Requests that wait for an engine to begin with them. Slices make such a queue longer than they last, so where it takes a good part of
// the time to the first token, there are none.
import type { RequestSample } from "./requests.ts";

export interface Queue {
  /** The mean of the last second, where the engine tells. */
  readonly waiting: number;
  /** First tokens a second: the mean of the last seconds. */
  readonly perS: number;
}

export const noQueue: Queue = { waiting: 0, perS: 0 };

const WAITING_MS = 1000;
const RATE_MS = 10_000;
/** This part of the limit for the first token may be waited for. */
const PART = 0.5;
/** Fewer that wait are in the next step. */
const MIN_WAITING = 2;

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
