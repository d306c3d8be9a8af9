// The client's counters do not list single bursts, so the longest burst of each sample is kept, ten
// for each of 15 minutes.

export interface Burst {
  readonly step: boolean;
  readonly at: number; // seconds on the clock at which the end was noticed
  readonly lastedUs: number;
  readonly waitedUs: number;
  readonly aheadUs: number;
  readonly aheadSlot: number | undefined;
  /** The parameters of that moment let best-effort work run concurrently with bursts. */
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

  #lasted(place: number): number {
    const lasted = this.#fields[place * FIELDS + 1] ?? Number.NaN;
    return Number.isNaN(lasted) ? -1 : lasted;
  }
}
