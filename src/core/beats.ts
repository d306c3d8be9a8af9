// A nearly idle process pays most for waking up, so tasks run together at multiples of a period:
// 100, 250, 400 and 1000 ms need 12 wakeups a second, not 17.5.

const SLACK = 1; // ms: timers are no more exact

interface Beat {
  readonly period: number;
  readonly run: () => void;
  due: number;
}

export class Beats {
  readonly #beats = new Set<Beat>();
  #timer: NodeJS.Timeout | undefined;
  #planned = Number.POSITIVE_INFINITY;

  every(period: number, run: () => void): () => void {
    const beat = { period, run, due: multipleAfter(performance.now(), period) };
    this.#beats.add(beat);
    this.#plan();
    return () => {
      this.#beats.delete(beat);
      if (this.#beats.size === 0) this.#plan(); // the timer would keep the process alive
    };
  }

  #plan(): void {
    const next = Math.min(...[...this.#beats].map(({ due }) => due));
    if (this.#timer && next === this.#planned) return;
    clearTimeout(this.#timer);
    this.#planned = next;
    this.#timer =
      this.#beats.size === 0
        ? undefined
        : setTimeout(() => this.#ring(), Math.max(0, Math.ceil(next - performance.now())));
  }

  #ring(): void {
    this.#timer = undefined;
    const now = performance.now();
    try {
      for (const beat of [...this.#beats]) {
        if (beat.due > now + SLACK || !this.#beats.has(beat)) continue;
        beat.due = multipleAfter(Math.max(now, beat.due), beat.period);
        beat.run();
      }
    } finally {
      this.#plan();
    }
  }
}

const multipleAfter = (now: number, period: number) => (Math.floor(now / period) + 1) * period;
