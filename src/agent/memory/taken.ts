import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { Log } from "../log/log.ts";
import { type MovableMemory, movableMemory, wantedIn } from "./movable.ts";
import { ask, bestEffortOf } from "./parking.ts";

const ASKED_AGAIN_AFTER = 10e9; // ns
/** In ns. Host memory of which no more is pinned for this long is all that a client can have. */
const PINNING_STALLS_AFTER = 3e9;
/** At least this part is parked at once, because more memory is often needed a moment later. */
const MIN_PART = 1 / 8;

interface Command {
  readonly number: number;
  readonly target: number; // bytes that are in host memory afterwards
  readonly before: number; // bytes of these that were there before
  doneAt?: number;
}

export interface Mover {
  readonly client: Client;
  readonly memory: MovableMemory;
  /** The tag belongs to the allocation of `memory.wanted`, or to an earlier one. */
  readonly wantedTag: number;
}

export class Taken {
  readonly #now: () => number;
  readonly #log: Log;
  readonly #commands = new Map<Client, Command>();
  readonly #refused = new Map<Client, number>();
  readonly #pinned = new Map<
    Client,
    { readonly pinnedBytes: number; readonly bytes: number; readonly at: number }
  >();

  constructor(now: () => number, log: Log) {
    this.#now = now;
    this.#log = log;
  }

  look(gpu: ServedGpu): readonly Mover[] {
    const movers = bestEffortOf(gpu).flatMap((client) => {
      const slot = gpu.region.memory.bestEffort[client.slot];
      if (!slot) return [];
      // It is read first: an allocation that comes in between must not get another's answer.
      const { tag: wantedTag } = wantedIn(slot.memory);
      const memory = movableMemory(slot.memory, slot.memoryUsed, this.#now());
      return memory?.movable ? [{ client, memory, wantedTag }] : [];
    });
    for (const mover of movers) this.#note(mover);
    return movers;
  }

  isOut({ client, memory: { state, asked } }: Mover): boolean {
    return this.#commands.get(client)?.number === asked && state !== "open";
  }

  pending({ client, memory }: Mover): number {
    const command = this.#commands.get(client);
    const isPending = command?.number === memory.asked && memory.answered !== memory.asked;
    return isPending ? Math.max(0, Math.min(command.target, memory.bytes) - memory.parkedBytes) : 0;
  }

  lately({ client, memory }: Mover, within: number): number {
    const command = this.#commands.get(client);
    if (command?.doneAt === undefined || command.number !== memory.asked) return 0;
    return this.#now() - command.doneAt < within ? memory.parkedBytes - command.before : 0;
  }

  canGive({ client, memory }: Mover): boolean {
    const decides = memory.state === "open" || memory.state === "parked";
    const mayAsk = decides && !this.#hasRefused(client) && memory.asked === memory.answered;
    return mayAsk && memory.bytes > memory.parkedBytes;
  }

  /**
   * Counts bytes on the GPU that a service may have. Neither moves nor pinning change the sum of
   * these and free memory: an engine that measures itself by it must not see it come and go.
   */
  takeable({ client, memory: { bytes, parkedBytes, pinnedBytes } }: Mover): number {
    if (this.#hasRefused(client)) return 0;
    const stalled = this.#now() - (this.#pinned.get(client)?.at ?? 0) >= PINNING_STALLS_AFTER;
    return Math.max(0, (stalled ? Math.min(bytes, pinnedBytes) : bytes) - parkedBytes);
  }

  #hasRefused(client: Client): boolean {
    const refusedAt = this.#refused.get(client);
    return refusedAt !== undefined && this.#now() - refusedAt < ASKED_AGAIN_AFTER;
  }

  take(gpu: ServedGpu, { client, memory }: Mover, bytes: number, because: string): number {
    const there = memory.bytes - memory.parkedBytes;
    const part = Math.min(there, Math.max(bytes, Math.ceil(memory.bytes * MIN_PART)));
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
    const all = [this.#commands, this.#refused, this.#pinned];
    if (all.every(({ size }) => size === 0)) return;
    const here = new Set(gpus.flatMap((gpu) => gpu.clients));
    for (const known of all)
      for (const client of known.keys()) if (!here.has(client)) known.delete(client);
  }

  #note({ client, memory }: Mover): void {
    const { pinnedBytes, bytes } = memory;
    const before = this.#pinned.get(client);
    if (before?.pinnedBytes !== pinnedBytes || before.bytes !== bytes)
      this.#pinned.set(client, { pinnedBytes, bytes, at: this.#now() });
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
