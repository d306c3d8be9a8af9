// Clients that the agent has parked by itself: what was asked of them, and what comes free by it.
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { Log } from "../log/log.ts";
import { type MovableMemory, movableMemory, wantedIn } from "./movable.ts";
import { ask, bestEffortOf } from "./parking.ts";

/** In ns. A client that refused to be parked is not asked again for so long. */
const ASKED_AGAIN_AFTER = 10e9;
/** At least so much of a client is parked at once: who needs memory often needs more of it a moment later. */
const LEAST_PART = 1 / 8;

interface Command {
  readonly number: number;
  /** Bytes that it has in host memory afterwards, in all. */
  readonly target: number;
  /** Of them so many were there before. */
  readonly before: number;
  /** When it was first seen to be carried out. */
  doneAt?: number;
}

/** A best-effort client with movable memory. */
export interface Mover {
  readonly client: Client;
  readonly memory: MovableMemory;
  /** Of the allocation that `memory.wanted` is of, or of one before it. */
  readonly wantedTag: number;
}

export class Taken {
  readonly #now: () => number;
  readonly #log: Log;
  readonly #commands = new Map<Client, Command>();
  readonly #refused = new Map<Client, number>();

  constructor(now: () => number, log: Log) {
    this.#now = now;
    this.#log = log;
  }

  /** Those on a GPU, as they are now. */
  look(gpu: ServedGpu): readonly Mover[] {
    const movers = bestEffortOf(gpu).flatMap((client) => {
      const slot = gpu.region.memory.bestEffort[client.slot];
      if (!slot) return [];
      // Before the rest: then an allocation that comes in between is not told what is meant for another.
      const { tag: wantedTag } = wantedIn(slot.memory);
      const memory = movableMemory(slot.memory, slot.memoryUsed, this.#now());
      return memory?.movable ? [{ client, memory, wantedTag }] : [];
    });
    for (const mover of movers) this.#note(mover);
    return movers;
  }

  /** It was parked by this, and nobody has decided otherwise since. */
  isOut({ client, memory: { state, asked } }: Mover): boolean {
    return this.#commands.get(client)?.number === asked && state !== "open";
  }

  /** Bytes that it is about to park. */
  pending({ client, memory }: Mover): number {
    const command = this.#commands.get(client);
    const isPending = command?.number === memory.asked && memory.answered !== memory.asked;
    return isPending ? Math.max(0, Math.min(command.target, memory.bytes) - memory.parkedBytes) : 0;
  }

  /** Bytes that it has parked within so many ns. */
  lately({ client, memory }: Mover, within: number): number {
    const command = this.#commands.get(client);
    if (command?.doneAt === undefined || command.number !== memory.asked) return 0;
    return this.#now() - command.doneAt < within ? memory.parkedBytes - command.before : 0;
  }

  /** It has memory on the GPU, may be asked for it, and has not just refused. */
  canGive({ client, memory }: Mover): boolean {
    const refusedAt = this.#refused.get(client);
    const lately = refusedAt !== undefined && this.#now() - refusedAt < ASKED_AGAIN_AFTER;
    const decides = memory.state === "open" || memory.state === "parked";
    return (
      decides && memory.bytes > memory.parkedBytes && !lately && memory.asked === memory.answered
    );
  }

  /** Bytes that it could park at once, because host memory for them is pinned. */
  takeable(mover: Mover): number {
    const { bytes, parkedBytes, pinnedBytes } = mover.memory;
    return this.canGive(mover) ? Math.max(0, Math.min(bytes, pinnedBytes) - parkedBytes) : 0;
  }

  /** Asks it to park so many bytes more; returns how many come free. */
  take(gpu: ServedGpu, { client, memory }: Mover, bytes: number, because: string): number {
    const there = memory.bytes - memory.parkedBytes;
    const part = Math.min(there, Math.max(bytes, Math.ceil(memory.bytes * LEAST_PART)));
    const target = memory.parkedBytes + part;
    const { asked } = ask(gpu, client, "park", { bytes: part === there ? 0 : target });
    this.#commands.set(client, { number: asked, target, before: memory.parkedBytes });
    this.#log("memory taken", { ...naming(gpu, client), bytes: part, because });
    return part;
  }

  giveBack(gpu: ServedGpu, { client, memory }: Mover): void {
    ask(gpu, client, "resume");
    this.#commands.delete(client);
    this.#log("memory given back", { ...naming(gpu, client), bytes: memory.parkedBytes });
  }

  forgetGone(gpus: readonly ServedGpu[]): void {
    if (this.#commands.size + this.#refused.size === 0) return;
    const here = new Set(gpus.flatMap((gpu) => gpu.clients));
    for (const known of [this.#commands, this.#refused])
      for (const client of known.keys()) if (!here.has(client)) known.delete(client);
  }

  /** A command that was carried out, or refused. */
  #note({ client, memory }: Mover): void {
    const command = this.#commands.get(client);
    if (command?.number !== memory.asked || memory.answered !== memory.asked) return;
    if (memory.parkedBytes >= Math.min(command.target, memory.bytes))
      command.doneAt ??= this.#now();
    else if (command.doneAt === undefined) {
      this.#refused.set(client, this.#now());
      command.doneAt = this.#now();
      if (memory.state === "open") this.#commands.delete(client);
    }
  }
}

const naming = (gpu: ServedGpu, { name, pid }: Client) => ({ client: name, pid, gpu: gpu.uuid });
