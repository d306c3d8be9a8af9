// The latest slices of a best-effort client: the times at which its work was let through during a request.
import { type BestEffortSlot, constants, type View } from "#protocol";
import { RecordRing } from "./record-ring.ts";

const { SLICE_RECORDS, SLICE_RECORD_WORDS } = constants;

/** When the GPU ran it, as far as is known, in monotonic ns. */
export interface Slice {
  readonly begin: number;
  readonly end: number;
}

/** Slices are kept for this long, because a step that one fell into may end later. ns. */
const KEPT_NS = 2e9;
/** A slice may end after the clock was read. ns. */
const MAX_AHEAD_NS = 1e9;

export class SliceRing {
  readonly #ring: RecordRing;
  #latest: readonly Slice[] = [];

  constructor(slot: View<typeof BestEffortSlot>) {
    this.#ring = new RecordRing({
      count: () => slot.slices,
      word: (at) => slot.sliceRecords.get(at),
      records: SLICE_RECORDS,
      words: SLICE_RECORD_WORDS,
    });
  }

  /** `now`: monotonic ns. */
  sample(now: number): void {
    const read = this.#ring.read().rows.flatMap(([, began = 0, closed = 0]) => {
      // The GPU did not get to it.
      if (began === 0) return [];
      return closed > began && closed <= now + MAX_AHEAD_NS ? [{ begin: began, end: closed }] : [];
    });
    this.#latest = [...this.#latest, ...read].filter(({ end }) => end > now - KEPT_NS);
  }

  /** Slices of the last two seconds, the oldest first. */
  get latest(): readonly Slice[] {
    return this.#latest;
  }
}

/** How many slices fell between two times: of one that overlaps one of these times, the part that is inside. */
export const slicesBetween = (slices: readonly Slice[], begin: number, end: number): number =>
  slices.reduce((sum, slice) => {
    const inside = Math.min(end, slice.end) - Math.max(begin, slice.begin);
    return inside > 0 ? sum + inside / (slice.end - slice.begin) : sum;
  }, 0);
