// A ring of typed arrays: its memory is known when it is made and never grows.

export class TimeRing<Name extends string> {
  readonly period: number; // seconds
  readonly #periods: Float64Array;
  readonly #seen: Float32Array;
  readonly #sums: ReadonlyMap<Name, Float32Array>;

  constructor(names: readonly Name[], period: number, capacity: number) {
    this.period = period;
    this.#periods = new Float64Array(capacity).fill(-1);
    this.#seen = new Float32Array(capacity);
    this.#sums = new Map(names.map((name) => [name, new Float32Array(capacity)]));
  }

  get bytes(): number {
    const arrays = [this.#periods, this.#seen, ...this.#sums.values()];
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  get capacity(): number {
    return this.#periods.length;
  }

  note(at: number, seconds: number, values: Readonly<Record<Name, number>>): void {
    const period = Math.floor(at / this.period);
    const place = period % this.capacity;
    if (this.#periods[place] !== period) {
      this.#periods[place] = period;
      this.#seen[place] = 0;
      for (const sums of this.#sums.values()) sums[place] = 0;
    }
    this.#seen[place] = (this.#seen[place] ?? 0) + seconds;
    for (const [name, sums] of this.#sums)
      sums[place] = (sums[place] ?? 0) + values[name] * seconds;
  }

  means(name: Name, from: number, until: number): readonly (number | null)[] {
    const sums = this.#sums.get(name);
    return this.#places(from, until).map((place) => {
      const seen = place === undefined ? 0 : (this.#seen[place] ?? 0);
      return place === undefined || seen === 0 ? null : (sums?.[place] ?? 0) / seen;
    });
  }

  /** Sums seconds times value over all periods that ended after `since`. */
  total(name: Name, since: number): number {
    const sums = this.#sums.get(name);
    let total = 0;
    for (let place = 0; place < this.capacity; place++)
      if (((this.#periods[place] ?? -1) + 1) * this.period > since) total += sums?.[place] ?? 0;
    return total;
  }

  #places(from: number, until: number): readonly (number | undefined)[] {
    return Array.from({ length: Math.max(0, until - from) }, (_, i) => {
      const place = (from + i) % this.capacity;
      return this.#periods[place] === from + i ? place : undefined;
    });
  }
}
