// The latest bursts of a high client, one by one, from the ring in its slot. The client writes on while it is read.
import { constants, type HighSlot, type View } from "#protocol";

const { BURST_RECORDS: RECORDS, BURST_RECORD_WORDS: WORDS } = constants;

/** Times in ns. */
export interface BurstRecord {
  readonly begin: number;
  readonly end: number;
  /** In which a thread of the program waited for the GPU. */
  readonly waited: number;
  /** Kernels and graphs. */
  readonly launches: number;
}

export interface BurstsRead {
  /** Since the last call, the oldest first. */
  readonly bursts: readonly BurstRecord[];
  /** Some that ended before these are missing: they were overwritten before they were read, or say what cannot be. */
  readonly gap: boolean;
}

/** In ns. A burst may end after the clock was read. */
const LATER = 1e9;

export class BurstRing {
  readonly #slot: View<typeof HighSlot>;
  #next: number | undefined;
  #end = 0;
  #launches: number | undefined;

  constructor(slot: View<typeof HighSlot>) {
    this.#slot = slot;
  }

  /** `now`: monotonic ns. */
  read(now: number): BurstsRead {
    const { bursts } = this.#slot;
    // Whoever may write the slot may write any number, also one to which 1 cannot be added.
    if (!Number.isSafeInteger(bursts)) return { bursts: [], gap: true };
    const from = Math.max(this.#next ?? 0, bursts - RECORDS);
    let gap = from !== this.#next || bursts < from;
    const records: BurstRecord[] = [];
    for (let n = from; n < bursts; n++) {
      const record = this.#at(n, now + LATER);
      // The client has begun to write over it, if it has not finished.
      if (this.#slot.bursts - n >= RECORDS || !record) {
        gap = true;
        records.length = 0;
      } else records.push(record);
    }
    this.#next = bursts;
    return { bursts: records, gap };
  }

  /** undefined: how many launches it had is not known, or it says what cannot be. */
  #at(n: number, until: number): BurstRecord | undefined {
    const at = (n % RECORDS) * WORDS;
    const { burstRecords } = this.#slot;
    const [begin, end, waited, launches] = [0, 1, 2, 3].map((i) => burstRecords.get(at + i));
    const [before, from] = [this.#launches, this.#end];
    this.#launches = launches;
    if (begin === undefined || end === undefined || waited === undefined || launches === undefined)
      return undefined;
    if (!(end <= until)) return undefined;
    this.#end = end;
    if (before === undefined || launches < before) return undefined;
    if (begin < from || end < begin || waited > end - begin) return undefined;
    return { begin, end, waited, launches: launches - before };
  }
}
