const MAX_GAP_MS = 5000;

/** Tells for how long a sample of the agent's figures stands. */
export class SampleClock {
  #last: number | undefined;

  /**
   * Returns the seconds since the last call, 0 at the first one and 5 at most: nothing is known of what was in a longer
   * gap. `now` in ms.
   */
  secondsUntil(now: number): number {
    const ms = Math.max(0, Math.min(MAX_GAP_MS, now - (this.#last ?? now)));
    this.#last = now;
    return ms / 1000;
  }
}
