// A high client's slot as the interposer writes it: bursts one by one, and times of requests.

import type { BurstRecord } from "#agent";
import type { RequestKind } from "#policy";
import { bucketOf, constants, type HighSlot, type View } from "#protocol";

type Slot = View<typeof HighSlot>;

export function writeBursts(slot: Slot, bursts: readonly BurstRecord[]): void {
  for (const { begin, end, waited, launches } of bursts) {
    const at = (slot.bursts % constants.BURST_RECORDS) * constants.BURST_RECORD_WORDS;
    slot.launches += launches;
    [begin, end, waited, slot.launches].forEach((word, i) => {
      slot.burstRecords.set(at + i, word);
    });
    slot.busyNs += end - begin;
    add(slot.histogram, end - begin);
    add(slot.waits, waited);
    slot.bursts += 1;
  }
}

/** Writes `count` values of one kind, of `timeMs` each. */
export function writeTimes(slot: Slot, kind: RequestKind, timeMs: number, count = 1): void {
  for (let i = 0; i < count; i++) add(slot[kind], timeMs * 1e6);
  slot.requestValues += count;
}

function add(counts: Slot["waits"], ns: number): void {
  const bucket = bucketOf(ns);
  counts.set(bucket, counts.get(bucket) + 1);
}
