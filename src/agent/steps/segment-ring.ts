// A segment is the work that an observed completion showed to be done.
import { constants, type HighSlot, type View } from "#protocol";
import { RecordRing } from "./record-ring.ts";

const { SEGMENT_RECORDS, SEGMENT_RECORD_WORDS, SEGMENT_NODES_SHIFT, SEGMENT_MAIN_SHIFT } =
  constants;

/** Times are in monotonic ns. */
export interface Segment {
  readonly begin: number;
  readonly end: number;
  readonly waited: number;
  readonly submissions: number;
  readonly nodes: number;
  readonly main: boolean; // it has the main work of a step
}

export interface SegmentsRead {
  readonly segments: readonly Segment[];
  readonly gap: boolean;
}

const MAX_AHEAD_NS = 1e9; // ns: a segment may end after the clock was read

const COUNTS = 2 ** SEGMENT_NODES_SHIFT;
const MAIN = 2 ** SEGMENT_MAIN_SHIFT;

export class SegmentRing {
  readonly #ring: RecordRing;
  #end = 0;

  constructor(slot: View<typeof HighSlot>) {
    this.#ring = new RecordRing({
      count: () => slot.segments,
      word: (at) => slot.segmentRecords.get(at),
      records: SEGMENT_RECORDS,
      words: SEGMENT_RECORD_WORDS,
    });
  }

  read(now: number): SegmentsRead {
    const { rows, gap } = this.#ring.read();
    let missing = gap;
    let segments: Segment[] = [];
    for (const [begin = 0, end = 0, waited = 0, counts = 0] of rows) {
      const isPlausible =
        end <= now + MAX_AHEAD_NS &&
        begin >= this.#end &&
        end >= begin &&
        waited <= end - begin &&
        counts < 2 * MAIN;
      if (end <= now + MAX_AHEAD_NS) this.#end = end;
      if (isPlausible) segments.push({ begin, end, waited, ...workIn(counts) });
      else [segments, missing] = [[], true];
    }
    return { segments, gap: missing };
  }
}

const workIn = (counts: number) => ({
  submissions: counts % COUNTS,
  nodes: Math.floor(counts / COUNTS) % COUNTS,
  main: counts >= MAIN,
});
