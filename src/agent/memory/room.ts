// Makes room on a GPU by parking best-effort clients: for a high client whose allocation the driver has just refused, and
// for what the operator wants kept free (`cotenant up --reserve`). Clients that were parked for this come back when there is
// room again.
import { constants } from "#protocol";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { Log } from "../log.ts";
import { type MovableMemory, movableMemory } from "./movable.ts";
import { ask, bestEffortOf } from "./parking.ts";

/** In ns. A service whose memory grows in steps should not wait at each of them. */
const BACK_AFTER = 10e9;
/** In ns. Memory that has come free so lately may not have been found yet by who waits for it. */
const FOUND_WITHIN = 500e6;
/** In ns. A client that refused to be parked is not asked again for so long. */
const ASKED_AGAIN_AFTER = 10e9;

const COMES = Number(constants.MEMORY_COMES);

interface RoomOptions {
  /** Bytes of each GPU that are kept free of best-effort memory. */
  readonly reserve: number;
  /** Free memory of a GPU in bytes; undefined where the driver does not say it. */
  readonly free: (uuid: string) => number | undefined;
  readonly now: () => number;
  readonly log: Log;
}

/** A client that was parked to make room. */
interface Taken {
  readonly command: number;
  readonly at: number;
  /** When it was first seen to be parked. */
  parkedAt?: number;
}

export class Room {
  readonly #options: RoomOptions;
  readonly #taken = new Map<Client, Taken>();
  readonly #refused = new Map<Client, number>();
  readonly #wantedAt = new Map<string, number>();

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  /** Several times in the time that a refused allocation waits (native/interposer/high/room.cpp). */
  look(gpus: readonly ServedGpu[]): void {
    this.#forgetGone(gpus);
    for (const gpu of gpus) {
      const wanting = gpu.region.memory.high.filter((slot) => slot.memoryWanted > 0);
      if (wanting.length === 0) continue;
      this.#wantedAt.set(gpu.uuid, this.#options.now());
      const most = Math.max(...wanting.map(({ memoryWanted: n }) => (n >= COMES ? n - COMES : n)));
      const comes = this.#make(gpu, most, "an allocation of a high client was refused");
      for (const slot of wanting) slot.memoryWanted = comes ? COMES + most : 0;
    }
  }

  /** Less often, because it asks the driver. */
  keepReserve(gpus: readonly ServedGpu[]): void {
    const { reserve, free, now } = this.#options;
    for (const gpu of gpus) {
      const left = free(gpu.uuid);
      const missing = left === undefined ? 0 : reserve - left;
      if (missing > 0) this.#make(gpu, missing, "less than the reserve was free");
      else if (now() - (this.#wantedAt.get(gpu.uuid) ?? 0) > BACK_AFTER) this.#giveBack(gpu, left);
    }
  }

  /** Parks clients until so much comes free. False: there is nobody to take it from. */
  #make(gpu: ServedGpu, bytes: number, because: string): boolean {
    const movable = bestEffortOf(gpu).flatMap((client) => {
      const memory = this.#memoryOf(gpu, client);
      return memory ? [{ client, memory }] : [];
    });
    this.#noteRefusals(movable);
    let coming = 0;
    for (const { client, memory } of movable)
      if (this.#isComing(client, memory)) coming += memory.bytes;
    const candidates = movable
      .filter(({ client, memory }) => memory.state === "open" && this.#may(client, memory))
      .sort(
        (one, other) =>
          one.client.share - other.client.share || other.memory.bytes - one.memory.bytes,
      );
    for (const { client, memory } of candidates) {
      if (coming >= bytes) break;
      const { asked } = ask(gpu, client, "park");
      this.#taken.set(client, { command: asked, at: this.#options.now() });
      this.#options.log("memory taken", {
        client: client.name,
        pid: client.pid,
        gpu: gpu.uuid,
        bytes: memory.bytes,
        because,
      });
      coming += memory.bytes;
    }
    return coming > 0;
  }

  #memoryOf(gpu: ServedGpu, { slot }: Client): MovableMemory | undefined {
    const own = gpu.region.memory.bestEffort[slot];
    return own && movableMemory(own, this.#options.now());
  }

  /** It is being parked, or has just been. */
  #isComing(client: Client, memory: MovableMemory): boolean {
    const taken = this.#taken.get(client);
    if (memory.state === "parking" || this.#isAsked(client, memory)) return true;
    if (!taken || memory.state !== "parked") return false;
    taken.parkedAt ??= this.#options.now();
    return this.#options.now() - taken.parkedAt < FOUND_WITHIN;
  }

  #isAsked(client: Client, { asked, answered }: MovableMemory): boolean {
    return this.#taken.get(client)?.command === asked && answered !== asked;
  }

  #may(client: Client, memory: MovableMemory): boolean {
    const refusedAt = this.#refused.get(client);
    const lately = refusedAt !== undefined && this.#options.now() - refusedAt < ASKED_AGAIN_AFTER;
    return memory.bytes > 0 && !lately && !this.#isAsked(client, memory);
  }

  #noteRefusals(clients: readonly { readonly client: Client; readonly memory: MovableMemory }[]) {
    for (const { client, memory } of clients) {
      const command = this.#taken.get(client)?.command;
      if (command !== memory.asked || memory.answered !== memory.asked || memory.state !== "open")
        continue;
      this.#taken.delete(client);
      this.#refused.set(client, this.#options.now());
    }
  }

  /** One at a time: what is free is known only when it is back. */
  #giveBack(gpu: ServedGpu, free: number | undefined): void {
    for (const client of bestEffortOf(gpu)) {
      const taken = this.#taken.get(client);
      const memory = this.#memoryOf(gpu, client);
      if (!taken || !memory) continue;
      // Somebody has given another command since: it is not ours any more.
      if (memory.asked !== taken.command) this.#taken.delete(client);
      else if (
        memory.state === "parked" &&
        this.#options.now() - taken.at > BACK_AFTER &&
        (free === undefined || free >= memory.bytes + this.#options.reserve)
      ) {
        ask(gpu, client, "resume");
        this.#taken.delete(client);
        this.#options.log("memory given back", {
          client: client.name,
          pid: client.pid,
          gpu: gpu.uuid,
          bytes: memory.bytes,
        });
        return;
      }
    }
  }

  #forgetGone(gpus: readonly ServedGpu[]): void {
    const here = new Set(gpus.flatMap((gpu) => gpu.clients));
    for (const known of [this.#taken, this.#refused])
      for (const client of known.keys()) if (!here.has(client)) known.delete(client);
  }
}
