import { Beats } from "./beats.ts";
import { type Micros, type Nanos, nanos, type WallMillis, wallMillis } from "./units.ts";

export interface Clock {
  /** The clock is CLOCK_MONOTONIC, which clients write into shared memory. */
  now(): Nanos;
  /** The first run is within one period; the returned function ends it. */
  every(period: Micros, run: () => void): () => void;
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

/** The wall clock may step, so its times are only shown, or compared with shown ones. */
export const wallNow = (): WallMillis => wallMillis(Date.now());
export const dateNow = (): string => new Date(wallNow()).toISOString();
