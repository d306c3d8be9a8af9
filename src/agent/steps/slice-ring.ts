// Best-effort work was let through in a slice during a request; times are in monotonic ns.
import { type BestEffortSlot, constants, type View } from "#protocol";
import { RecordRing } from "./record-ring.ts";

const { SLICE_RECORDS, SLICE_RECORD_WORDS } = constants;

export interface Slice {
  readonly begin: number;
  readonly end: number;
}

const KEPT_NS = 2e9; // ns: a step may end later than a slice in it
const MAX_AHEAD_NS = 1e9; // ns: a slice may end after the clock was read

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

  sample(now: number): void {
    const read = this.#ring.read().rows.flatMap(([, began = 0, closed = 0]) => {
      // The GPU did not run this slice.
      if (began === 0) return [];
      return closed > began && closed <= now + MAX_AHEAD_NS ? [{ begin: began, end: closed }] : [];
    });
    this.#latest = [...this.#latest, ...read].filter(({ end }) => end > now - KEPT_NS);
  }

  get latest(): readonly Slice[] {
    return this.#latest;
  }
}

/** A slice that overlaps a border counts with the part that is inside. */
export const slicesBetween = (slices: readonly Slice[], begin: number, end: number): number =>
  slices.reduce((sum, slice) => {
    const inside = Math.min(end, slice.end) - Math.max(begin, slice.begin);
    return inside > 0 ? sum + inside / (slice.end - slice.begin) : sum;
  }, 0);
