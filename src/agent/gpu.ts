// One GPU as the agent serves it: its shared region and who holds which slot. The agent's own record
// is the truth about slots; the memory is written to agree with it (`heal`), because any client can
// scribble over it. Whatever a dead client left behind is taken away here (`release`).
import { type ClientClass, constants, Region, type View } from "#protocol";
import { formatUuid, type GpuIdentity, type SharedRegion } from "./region.ts";
import { isAlive, printable } from "./system/index.ts";
import type { Identity } from "./tenants/index.ts";

export interface Client {
  readonly class: ClientClass;
  readonly slot: number;
  readonly pid: number;
  readonly startTime: number;
  readonly name: string;
  readonly memoryQuota: number;
  readonly sloP99Us: number;
  readonly sloSlowdownPermille: number;
  /** From its profile, as in a Hello; 0 where there is none. */
  readonly soloUs: number;
  readonly gpuSharePermille: number;
  readonly training: boolean;
  /** undefined for a client that outlived the last agent and has not come back. */
  readonly identity: Identity | undefined;
  /** The name of the grant by which it has its slot. */
  readonly grant: string | undefined;
  /** False while a client that outlived the last agent has not come back: it is watched by its pid. */
  connected: boolean;
}

export type Applicant = Omit<Client, "slot" | "connected">;

const capacity = { high: constants.MAX_HIGH, "best-effort": constants.MAX_BEST_EFFORT } as const;

const sharedSlots = {
  high: { at: Region.offsets.high, size: Region.fields.high.struct.size },
  "best-effort": { at: Region.offsets.bestEffort, size: Region.fields.bestEffort.struct.size },
} as const;

export class ServedGpu {
  readonly identity: GpuIdentity;
  readonly uuid: string;
  readonly region: SharedRegion;
  readonly #clients = new Map<string, Client>();
  /** `activity.activations` when `heal` last found the GPU idle. */
  #idleAt: number | undefined;

  constructor(identity: GpuIdentity, region: SharedRegion) {
    this.identity = identity;
    this.uuid = formatUuid(identity.uuid);
    this.region = region;
  }

  get clients(): readonly Client[] {
    return [...this.#clients.values()];
  }

  at(kind: ClientClass, slot: number): Client | undefined {
    return this.#clients.get(`${kind} ${slot}`);
  }

  /** Gives the lowest free slot; undefined when all are taken. */
  take(applicant: Applicant, now: number): Client | undefined {
    for (let slot = 0; slot < capacity[applicant.class]; slot++)
      if (!this.at(applicant.class, slot)) return this.takeSlot(applicant, slot, now);
    return undefined;
  }

  /** Fills a free slot: zeros, then the identity, then `state`, which makes it count. */
  takeSlot(applicant: Applicant, slot: number, now: number): Client {
    const client: Client = { ...applicant, slot, connected: true };
    const { at, size } = sharedSlots[client.class];
    this.region.clear(at + slot * size, size);
    if (client.class === "best-effort") {
      this.region.clear(Region.offsets.marks + slot * constants.PAGE, constants.PAGE);
      this.region.memory.holds.hold.set(slot, 0);
      const view = this.region.memory.bestEffort[slot];
      if (view) view.memoryQuota = client.memoryQuota;
    }
    this.#clients.set(`${client.class} ${slot}`, client);
    this.#writeIdentity(client);
    if (client.class === "best-effort" && this.#bits("best-effort") === 1 << slot) {
      this.region.memory.activity.turn = slot;
      this.region.memory.activity.turnSince = now;
    }
    return client;
  }

  /** The client is gone: nothing it left behind may hold up anybody. */
  release(client: Client, now: number): void {
    const { activity, holds } = this.region.memory;
    const bit = 1 << client.slot;
    this.#clients.delete(`${client.class} ${client.slot}`);
    if (client.class === "high") {
      const wasActive = (activity.active & bit) !== 0;
      this.region.clearBits("registered", bit);
      this.region.clearBits("active", bit);
      if (wasActive) this.#openHoldsIfIdle(now);
    } else {
      this.region.clearBits("waiting", bit);
      holds.hold.set(client.slot, 0);
      this.#passTurnOn(client.slot, now);
    }
    const slot = this.#slot(client.class, client.slot);
    if (slot) slot.state = 0;
  }

  /** After an adoption: the living of those who held slots keep them, the dead are released. */
  recall(now: number): void {
    for (const kind of ["high", "best-effort"] as const)
      for (let slot = 0; slot < capacity[kind]; slot++) {
        const view = this.#slot(kind, slot);
        if (view?.state !== 1) continue;
        const client: Client = {
          class: kind,
          slot,
          pid: view.pid,
          startTime: view.startTime,
          name: printable(view.name),
          memoryQuota: 0,
          sloP99Us: 0,
          sloSlowdownPermille: 0,
          soloUs: 0,
          gpuSharePermille: 0,
          training: false,
          identity: undefined,
          grant: undefined,
          connected: false,
        };
        this.#clients.set(`${kind} ${slot}`, client);
      }
    // Only now: what a dead one leaves behind is taken away from the living, so they must be known.
    for (const client of this.clients)
      if (!isAlive(client.pid, client.startTime)) this.release(client, now);
  }

  /** A client that was recalled is back, and tells again what the memory does not hold. */
  reattach(applicant: Applicant, slot: number): Client {
    const client: Client = { ...applicant, slot, connected: true };
    this.#clients.set(`${client.class} ${slot}`, client);
    this.#writeIdentity(client);
    return client;
  }

  /** Once a second: makes the memory agree with the record, whoever wrote over it. */
  heal(agentPid: number, now: number): void {
    const { header, activity, holds } = this.region.memory;
    this.region.writeHeader(this.identity, agentPid, header.generation);
    for (const kind of ["high", "best-effort"] as const)
      for (let slot = 0; slot < capacity[kind]; slot++) {
        const client = this.at(kind, slot);
        if (client) this.#writeIdentity(client);
        else this.#markFree(kind, slot);
      }
    const strayActive = activity.active & ~this.#bits("high");
    if (strayActive !== 0) {
      this.region.clearBits("active", strayActive);
      this.#openHoldsIfIdle(now);
    }
    this.region.clearBits("registered", ~this.#bits("high"));
    this.region.clearBits("waiting", ~this.#bits("best-effort"));
    if (!this.at("best-effort", activity.turn)) this.#passTurnOn(activity.turn, now);

    // A GPU that has been idle since the last look has no reason to hold anybody.
    const idle = activity.active === 0 ? activity.activations : undefined;
    if (idle !== undefined && idle === this.#idleAt && holds.hold.copy().some((hold) => hold !== 0))
      this.#openHoldsIfIdle(now);
    this.#idleAt = idle;
  }

  #slot(
    kind: ClientClass,
    slot: number,
  ): View<typeof Region>["high" | "bestEffort"][number] | undefined {
    const { high, bestEffort } = this.region.memory;
    return kind === "high" ? high[slot] : bestEffort[slot];
  }

  #markFree(kind: ClientClass, slot: number): void {
    const view = this.#slot(kind, slot);
    if (view && view.state !== 0) view.state = 0;
    if (kind === "best-effort" && this.region.memory.holds.hold.get(slot) !== 0)
      this.region.memory.holds.hold.set(slot, 0);
  }

  #writeIdentity(client: Client): void {
    const view = this.#slot(client.class, client.slot);
    if (!view) return;
    view.pid = client.pid;
    view.startTime = client.startTime;
    if (view.name !== client.name) view.name = client.name;
    view.state = 1;
    if (client.class === "high") this.region.setBits("registered", 1 << client.slot);
  }

  /** A bit per taken slot. */
  #bits(kind: ClientClass): number {
    let bits = 0;
    for (const client of this.#clients.values())
      if (client.class === kind) bits |= 1 << client.slot;
    return bits;
  }

  #openHoldsIfIdle(now: number): void {
    const { activity, holds, settings } = this.region.memory;
    if (activity.active !== 0 || settings.paused !== 0) return;
    activity.idleSince = now;
    const clients = this.clients.filter((client) => client.class === "best-effort");
    for (const { slot } of clients) holds.hold.set(slot, 0);
    // A burst may have begun in between, and its hold words been overwritten: give them back.
    if (activity.active !== 0 && settings.protect !== 0)
      for (const { slot } of clients) holds.hold.set(slot, 1);
  }

  /** To the next best-effort client that has work, else to the next one at all. */
  #passTurnOn(from: number, now: number): void {
    const { activity } = this.region.memory;
    const taken = this.#bits("best-effort");
    const wanted = activity.waiting & taken;
    const next = nextBit(wanted === 0 ? taken : wanted, from);
    if (next !== undefined && this.region.passTurn(from, next)) activity.turnSince = now;
  }
}

/** The first set bit after `from`, going round. */
function nextBit(bits: number, from: number): number | undefined {
  for (let step = 1; step <= 32; step++) {
    const bit = (from + step) % 32;
    if (bits & (1 << bit)) return bit;
  }
  return undefined;
}
