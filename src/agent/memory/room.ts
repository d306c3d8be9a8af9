// Best-effort clients are parked for an allocation of a high client that the driver refused, for
// the operator's reserve (`cotenant up --reserve`), and for each other (turns.ts).
import type { Nanos } from "#core";
import type { ServedGpu } from "../gpus/gpu.ts";
import type { Log } from "../log/log.ts";
import { answerWanted, wantedIn } from "./movable.ts";
import { type Mover, Taken } from "./taken.ts";
import { MemoryTurns, type Quantum } from "./turns.ts";

/** In ns: a service whose memory grows in steps should not wait at each of them. */
const BACK_AFTER = 10e9;
/** In ns. The client that waits may not have found memory that was freed within this time. */
const FOUND_WITHIN = 500e6;

interface RoomOptions {
  readonly reserve: number; // bytes of each GPU
  readonly quantum: Quantum;
  readonly free: (uuid: string) => number | undefined; // bytes; undefined: the driver does not tell
  readonly now: () => Nanos;
  readonly log: Log;
}

export class Room {
  readonly #options: RoomOptions;
  readonly #taken: Taken;
  readonly #turns: MemoryTurns;
  readonly #wantedAt = new Map<string, number>();

  constructor(options: RoomOptions) {
    this.#options = options;
    this.#taken = new Taken(options.now, options.log);
    this.#turns = new MemoryTurns({ ...options, taken: this.#taken });
  }

  /**
   * Runs several times while a refused allocation waits (native/interposer/movable/room.cpp).
   * Returns whether one would wait.
   */
  look(gpus: readonly ServedGpu[]): boolean {
    this.#taken.forgetGone(gpus);
    let someCan = false;
    for (const gpu of gpus) {
      const movers = this.#taken.look(gpu);
      someCan ||= movers.length > 0;
      const { roster } = gpu.region.memory;
      roster.moving = movers.filter(isMoving).reduce((bits, one) => bits | bitOf(one), 0);
      roster.takeable = movers.reduce((sum, mover) => sum + this.#taken.takeable(mover), 0);
      roster.takeableAt = this.#options.now();
      roster.movers = movers.reduce((bits, one) => bits | bitOf(one), 0);
      const wanting = gpu.clients.flatMap((client) => {
        const memory = client.class === "high" && gpu.region.memory.high[client.slot]?.memory;
        const wanted = memory && wantedIn(memory);
        return wanted && wanted.bytes > 0 ? [{ memory, ...wanted }] : [];
      });
      if (wanting.length > 0) this.#makeFor(gpu, movers, wanting);
      else this.#turns.look(gpu, movers, this.#isQuiet(gpu));
    }
    return someCan;
  }

  keepReserve(gpus: readonly ServedGpu[]): void {
    const { reserve, free } = this.#options;
    if (reserve === 0) return;
    for (const gpu of gpus) {
      const left = free(gpu.uuid);
      const missing = left === undefined ? 0 : reserve - left;
      if (missing > 0)
        this.#make(gpu, this.#taken.look(gpu), missing, "less than the reserve was free");
    }
  }

  #isQuiet({ uuid }: ServedGpu): boolean {
    return (
      this.#options.now() - (this.#wantedAt.get(uuid) ?? Number.NEGATIVE_INFINITY) > BACK_AFTER
    );
  }

  #makeFor(
    gpu: ServedGpu,
    movers: readonly Mover[],
    wanting: readonly {
      readonly memory: { memoryAnswer: number };
      readonly bytes: number;
      readonly tag: number;
    }[],
  ): void {
    this.#wantedAt.set(gpu.uuid, this.#options.now());
    const most = Math.max(...wanting.map(({ bytes }) => bytes));
    const come = this.#make(gpu, movers, most, "an allocation of a high client was refused");
    for (const { memory, tag } of wanting) answerWanted(memory, tag, come);
  }

  #make(gpu: ServedGpu, movers: readonly Mover[], bytes: number, because: string): boolean {
    const taken = this.#taken;
    let coming = 0;
    for (const mover of movers) coming += taken.pending(mover) + taken.lately(mover, FOUND_WITHIN);
    for (const mover of movers.filter((one) => taken.canGive(one)).sort(leastUrgentFirst)) {
      if (coming >= bytes) break;
      coming += taken.take(gpu, mover, bytes - coming, because);
    }
    return coming > 0;
  }
}

// A client that is parked in part runs no slower if more is taken; then the smallest share goes.
const leastUrgentFirst = (one: Mover, other: Mover): number =>
  Number(other.memory.state === "parked") - Number(one.memory.state === "parked") ||
  one.client.share - other.client.share ||
  other.memory.bytes - one.memory.bytes;

const bitOf = ({ client }: Mover): number => 1 << client.slot;

/** Bytes of its memory may be on the GPU and in the host at once, or in neither. */
const isMoving = ({ memory: { state, asked, answered } }: Mover): boolean =>
  asked !== answered || state === "parking" || state === "returning";
