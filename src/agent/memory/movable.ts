import { constants, type Movable, parkStates, unmovable, type View } from "#protocol";
import { printable } from "../system/index.ts";

type ParkState = keyof typeof parkStates;

export interface MovableMemory {
  /** False: only the driver's checkpoint can park it, which somebody has asked for. */
  readonly movable: boolean;
  readonly state: ParkState;
  readonly byDriver: boolean;
  readonly bytes: number;
  readonly parkedBytes: number;
  readonly wanted: number; // bytes of an allocation that waits
  /** Bytes that were allocated otherwise; 0 of a high client, whose allocations are not counted. */
  readonly unmovableBytes: number;
  readonly unmovable: readonly string[];
  readonly pinnedBytes: number;
  readonly parkedSeconds: number | undefined;
  readonly parkMs: number | undefined;
  readonly returnMs: number | undefined;
  readonly woken: number;
  readonly firstAnswerMs: number | undefined;
  readonly reason: string | undefined; // says why it is not parked, or not yet back
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

export function movableMemory(
  memory: View<typeof Movable>,
  memoryUsed: number | undefined,
  now: number,
): MovableMemory | undefined {
  if (memory.movable !== 1 && memory.parkAsked === 0) return undefined;
  const duration = (ns: number) => (ns > 0 ? ns / 1e6 : undefined);
  // This is read first: a command that is seen as answered comes with its results.
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

interface Wanted {
  readonly bytes: number;
  readonly tag: number;
}

export const wantedIn = ({ memoryWanted }: { readonly memoryWanted: number }): Wanted => {
  const tag = memoryWanted % constants.WANTED_TAGS;
  return { bytes: memoryWanted - tag, tag };
};

/** The client may clear its wish and have another one before the answer comes, hence `tag`. */
export function answerWanted(memory: { memoryAnswer: number }, tag: number, comes: boolean): void {
  const answers = ((memory.memoryAnswer >>> 1) + 1) % ANSWERS;
  memory.memoryAnswer = tag * 2 * ANSWERS + 2 * answers + Number(comes);
}

const ANSWERS = 2 ** 23;
