// Clocks that are passed as arguments. The agent gets the system's clock, its tests get one that they advance
// themselves.
import { Beats } from "./beats.ts";
import { type Micros, type Nanos, nanos, type WallMillis, wallMillis } from "./units.ts";

export interface Clock {
  /** Monotonic nanoseconds: CLOCK_MONOTONIC, the clock the clients write into shared memory. */
  now(): Nanos;
  /** Runs again and again until the returned function is called; for the first time within one period. */
  every(period: Micros, run: () => void): () => void;
  /** Runs once, unless the returned function is called first. */
  after(delay: Micros, run: () => void): () => void;
}

const beats = new Beats();

export const systemClock: Clock = {
  now: () => nanos(Number(process.hrtime.bigint())),
  every: (period, run) => beats.every(period / 1000, run),
  after(delay, run) {
    const timer = setTimeout(run, delay / 1000);
    return () => clearTimeout(timer);
  },
};

/** ms since 1970, by the wall clock, which may step. It is shown, and compared with what was shown, no more. */
export const wallNow = (): WallMillis => wallMillis(Date.now());

/** ISO 8601, by the wall clock. */
export const dateNow = (): string => new Date(wallNow()).toISOString();
