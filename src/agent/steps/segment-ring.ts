// The latest segments of a high client: the work that each observed completion showed to be done.
import { constants, type HighSlot, type View } from "#protocol";
import { RecordRing } from "./record-ring.ts";

const { SEGMENT_RECORDS, SEGMENT_RECORD_WORDS, SEGMENT_NODES_SHIFT, SEGMENT_MAIN_SHIFT } =
  constants;

/** Times in monotonic ns. */
export interface Segment {
  /** The end of the one before, or the start of its burst. */
  readonly begin: number;
  readonly end: number;
  /** Time in which a thread of the program waited for the GPU. */
  readonly waited: number;
  /** Kernels, graphs and copies that were submitted. */
  readonly submissions: number;
  /** Nodes of the graphs among them. */
  readonly nodes: number;
  /** It has the main work of a step. */
  readonly main: boolean;
}

export interface SegmentsRead {
  /** Since the last call, the oldest first. */
  readonly segments: readonly Segment[];
  /** Segments before these are missing. */
  readonly gap: boolean;
}

/** A segment may end after the clock was read. ns. */
const MAX_AHEAD_NS = 1e9;

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

  /** `now`: monotonic ns. */
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
