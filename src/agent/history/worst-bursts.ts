// The worst bursts of one high client in the last quarter of an hour: ten of each minute, in typed arrays. The client's counters
// tell how long bursts were, not one by one, so what is kept is the longest burst of each sample, four times a second.

/** One look: the longest of its bursts, or of its steps where there are any, and the longest wait and the largest queued-ahead work of any of them. */
export interface Burst {
  /** It is a step, of several bursts. */
  readonly step: boolean;
  /** When it was seen to have ended, in seconds on the clock. */
  readonly at: number;
  readonly lastedUs: number;
  readonly waitedUs: number;
  readonly aheadUs: number;
  /** Slot of the best-effort client that may have run ahead; undefined: none had work there. */
  readonly aheadSlot: number | undefined;
  /** The rules of that moment let best-effort work run beside bursts. */
  readonly beside: boolean;
}

const MINUTES = 15;
const EACH_MINUTE = 10;
const FIELDS = 7;
const NOBODY = -1;

const SHOWN = 10;

export class WorstBursts {
  readonly #fields = new Float64Array(MINUTES * EACH_MINUTE * FIELDS).fill(Number.NaN);

  get bytes(): number {
    return this.#fields.byteLength;
  }

  note({ at, lastedUs, waitedUs, aheadUs, aheadSlot = NOBODY, beside, step }: Burst): void {
    const minute = Math.floor(at / 60);
    const first = (minute % MINUTES) * EACH_MINUTE;
    let least = first;
    for (let place = first; place < first + EACH_MINUTE; place++) {
      if (!this.#isOf(place, minute)) this.#clear(place);
      if (this.#lasted(place) < this.#lasted(least)) least = place;
    }
    if (lastedUs > this.#lasted(least))
      this.#fields.set(
        [at, lastedUs, waitedUs, aheadUs, aheadSlot, Number(beside), Number(step)],
        least * FIELDS,
      );
  }

  /** The longest first. */
  worst(now: number): readonly Burst[] {
    const bursts: Burst[] = [];
    for (let place = 0; place < MINUTES * EACH_MINUTE; place++) {
      const [at = NOBODY, lastedUs = 0, waitedUs = 0, aheadUs = 0, slot = NOBODY, ...flags] =
        this.#fields.subarray(place * FIELDS, (place + 1) * FIELDS);
      const [beside, step] = flags.map((flag) => flag === 1);
      if (!(now - at < MINUTES * 60)) continue; // also where it is not a number
      const aheadSlot = slot === NOBODY ? undefined : slot;
      bursts.push({ at, lastedUs, waitedUs, aheadUs, aheadSlot, beside: !!beside, step: !!step });
    }
    return bursts.sort((a, b) => b.lastedUs - a.lastedUs).slice(0, SHOWN);
  }

  #isOf(place: number, minute: number): boolean {
    return Math.floor((this.#fields[place * FIELDS] ?? Number.NaN) / 60) === minute;
  }

  #clear(place: number): void {
    this.#fields.fill(Number.NaN, place * FIELDS, (place + 1) * FIELDS);
  }

  /** An empty place is shorter than any burst. */
  #lasted(place: number): number {
    const lasted = this.#fields[place * FIELDS + 1] ?? Number.NaN;
    return Number.isNaN(lasted) ? -1 : lasted;
  }
}
