// A client's counters of memory that can be parked: it is movable (`cotenant run --movable`, or `--park-after` of a
// service), or the driver's checkpoint of the process takes it.
import { constants, type Movable, parkStates, unmovable, type View } from "#protocol";
import { printable } from "../system/index.ts";

type ParkState = keyof typeof parkStates;

export interface MovableMemory {
  /** False: it can be parked by the driver's checkpoint only, and somebody has asked for that. */
  readonly movable: boolean;
  readonly state: ParkState;
  /** It was parked by the driver's checkpoint. */
  readonly byDriver: boolean;
  /** Bytes of the GPU's memory that can be moved, or are parked. */
  readonly bytes: number;
  /** The part of them that is in host memory. */
  readonly parkedBytes: number;
  /** Bytes of an allocation that waits until other clients' memory is parked; 0: none. */
  readonly wanted: number;
  /** Bytes that it allocated otherwise, 0 of a high client, whose allocations are not counted; and how. */
  readonly unmovableBytes: number;
  readonly unmovable: readonly string[];
  /** Host memory that is pinned for it. */
  readonly pinnedBytes: number;
  /** Since the command; undefined if it is not parked. */
  readonly parkedSeconds: number | undefined;
  /** How long the last moves took; undefined before the first one. */
  readonly parkMs: number | undefined;
  readonly returnMs: number | undefined;
  /** Number of requests that woke a service whose memory is parked when idle, and the duration of the last one. */
  readonly woken: number;
  readonly firstAnswerMs: number | undefined;
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
  mapped: "physical memory that the program maps itself, and shares or asks for in a special form",
  plain: "memory that the driver did not give in pieces",
};

const states: ReadonlyMap<number, string> = new Map(
  Object.entries(parkStates).map(([name, value]) => [value, name]),
);

/** undefined: it is not movable, and nobody has asked to park it. `memoryUsed`: bytes, where they are counted. `now`: monotonic ns. */
export function movableMemory(
  memory: View<typeof Movable>,
  memoryUsed: number | undefined,
  now: number,
): MovableMemory | undefined {
  if (memory.movable !== 1 && memory.parkAsked === 0) return undefined;
  const duration = (ns: number) => (ns > 0 ? ns / 1e6 : undefined);
  // Before what the client has written before it: who sees a command answered sees what came of it.
  const { parkAsked: asked, parkAnswered: answered } = memory;
  const { parkedSinceNs, movableBytes, parkedBytes } = memory;
  const byDriver = memory.byDriver === 1;
  return {
    movable: memory.movable === 1,
    byDriver,
    state: (states.get(memory.parkState) ?? "open") as ParkState,
    bytes: byDriver ? Math.max(parkedBytes, movableBytes) : movableBytes,
    parkedBytes: byDriver ? parkedBytes : Math.min(parkedBytes, movableBytes),
    wanted: wantedIn(memory).bytes,
    unmovableBytes: Math.max(0, (memoryUsed ?? 0) - memory.movableAsked),
    unmovable: Object.entries(unmovable).flatMap(([kind, bit]) =>
      (memory.unmovable & bit) === 0 ? [] : [kindsInWords[kind as keyof typeof unmovable]],
    ),
    pinnedBytes: memory.pinnedBytes,
    parkedSeconds: parkedSinceNs > 0 ? Math.max(0, now - parkedSinceNs) / 1e9 : undefined,
    parkMs: duration(memory.parkNs),
    returnMs: duration(memory.returnNs),
    woken: memory.woken,
    firstAnswerMs: duration(memory.firstAnswerNs),
    reason: printable(memory.parkReason) || undefined,
    asked,
    answered,
  };
}

/** An allocation of a client that the driver refused and that waits. */
interface Wanted {
  /** 0: there is none. */
  readonly bytes: number;
  readonly tag: number;
}

export const wantedIn = ({ memoryWanted }: { readonly memoryWanted: number }): Wanted => {
  const tag = memoryWanted % constants.WANTED_TAGS;
  return { bytes: memoryWanted - tag, tag };
};

/**
 * Tells a client whether memory comes for the allocation with this tag. The client clears what it wants by itself, and may
 * do so, and want something else, before it is told.
 */
export function answerWanted(memory: { memoryAnswer: number }, tag: number, comes: boolean): void {
  const answers = ((memory.memoryAnswer >>> 1) + 1) % ANSWERS;
  memory.memoryAnswer = tag * 2 * ANSWERS + 2 * answers + Number(comes);
}

const ANSWERS = 2 ** 23;
