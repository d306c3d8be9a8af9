// What a best-effort client with movable memory says of it (`cotenant run --movable`).
import { type BestEffortSlot, parkStates, unmovable, type View } from "#protocol";
import { printable } from "../system/index.ts";

type ParkState = keyof typeof parkStates;

export interface MovableMemory {
  readonly state: ParkState;
  /** Bytes of the GPU's memory that can be moved, or are parked. */
  readonly bytes: number;
  /** Bytes that it allocated otherwise, and how. */
  readonly unmovableBytes: number;
  readonly unmovable: readonly string[];
  /** Host memory that is pinned for it. */
  readonly pinnedBytes: number;
  /** Since the command; undefined if it is not parked. */
  readonly parkedSeconds: number | undefined;
  /** How long the last moves took; undefined before the first one. */
  readonly parkMs: number | undefined;
  readonly returnMs: number | undefined;
  /** Why it is not parked, or not yet back; undefined if nothing is wrong. */
  readonly reason: string | undefined;
  /** Counts the agent's commands, and the last one that the client has carried out or refused. */
  readonly asked: number;
  readonly answered: number;
}

const kindsInWords: Readonly<Record<keyof typeof unmovable, string>> = {
  pools: "stream-ordered allocation",
  managed: "managed memory",
  arrays: "arrays",
  graphs: "allocations of graphs",
  mapped: "physical memory that the program maps itself",
  plain: "memory that the driver did not give in pieces",
};

const states: ReadonlyMap<number, string> = new Map(
  Object.entries(parkStates).map(([name, value]) => [value, name]),
);

/** undefined: the client was not started with --movable. `now`: monotonic ns. */
export function movableMemory(
  slot: View<typeof BestEffortSlot>,
  now: number,
): MovableMemory | undefined {
  if (slot.movable !== 1) return undefined;
  const duration = (ns: number) => (ns > 0 ? ns / 1e6 : undefined);
  const { parkedSinceNs } = slot;
  return {
    state: (states.get(slot.parkState) ?? "open") as ParkState,
    bytes: slot.movableBytes,
    unmovableBytes: Math.max(0, slot.memoryUsed - slot.movableAsked),
    unmovable: Object.entries(unmovable).flatMap(([kind, bit]) =>
      (slot.unmovable & bit) === 0 ? [] : [kindsInWords[kind as keyof typeof unmovable]],
    ),
    pinnedBytes: slot.pinnedBytes,
    parkedSeconds: parkedSinceNs > 0 ? Math.max(0, now - parkedSinceNs) / 1e9 : undefined,
    parkMs: duration(slot.parkNs),
    returnMs: duration(slot.returnNs),
    reason: printable(slot.parkReason) || undefined,
    asked: slot.parkAsked,
    answered: slot.parkAnswered,
  };
}
