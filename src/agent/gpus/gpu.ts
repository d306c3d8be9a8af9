// The agent's own record decides about slots, and the memory is written to agree with it. A client
// may write wrong values where it may write at all: `heal` repairs those that can be recognised.
import type { Nanos } from "#core";
import { type Objective, parseObjective } from "#policy";
import { type ClientClass, constants } from "#protocol";
import { type JobName, jobId, ownJob } from "../jobs/job-name.ts";
import { turnShares } from "../jobs/turn-shares.ts";
import { printable } from "../system/index.ts";
import type { Identity } from "../tenants/index.ts";
import { statedObjective } from "./hello-objective.ts";
import { formatUuid, type GpuIdentity, type Part, SharedRegion } from "./region.ts";
import { keepTurns, type TurnKeeper } from "./turns.ts";

export interface Client {
  readonly class: ClientClass;
  readonly slot: number;
  readonly pid: number;
  readonly startTime: number;
  readonly name: string;
  readonly memoryQuota: number;
  readonly share: number;
  objective: Objective | undefined;
  /** People have stated its objective, which outweighs the client's own. */
  isObjectiveStated: boolean;
  readonly sloMetrics: string;
  readonly soloUs: number;
  readonly gpuSharePermille: number;
  readonly training: boolean;
  /** Its library is older than the agent: the client is served without what came since. */
  readonly isOlder: boolean;
  readonly identity: Identity | undefined;
  readonly job: JobName;
  readonly grant: string | undefined;
  /** It does not use this GPU: it holds best-effort work here for other ranks of its job. */
  readonly holdsOnly: boolean;
  /** False for a client of the last agent that has not come back; it is watched by its pid. */
  connected: boolean;
}

export type Applicant = Omit<Client, "slot" | "connected">;

export const defaultApplicant: Omit<Applicant, "class" | "pid" | "startTime" | "name"> = {
  memoryQuota: 0,
  share: 1,
  objective: undefined,
  isObjectiveStated: false,
  sloMetrics: "",
  soloUs: 0,
  gpuSharePermille: 0,
  training: false,
  isOlder: false,
  identity: undefined,
  job: ownJob,
  grant: undefined,
  holdsOnly: false,
};

export type ClientRecord = Pick<Client, "class" | "slot" | "pid" | "startTime" | "name"> & {
  readonly statedSlo?: readonly string[] | undefined;
};

export const capacity = {
  high: constants.MAX_HIGH,
  "best-effort": constants.MAX_BEST_EFFORT,
} as const;

/** In ns: clients look for a new agent five times a second. */
const COMES_BACK_WITHIN = 2e9;

const partsOf = ({ class: kind, slot }: Pick<Client, "class" | "slot">): readonly Part[] =>
  kind === "high"
    ? [{ kind, slot }]
    : [
        { kind, slot },
        { kind: "hold", slot },
      ];

export class ServedGpu {
  readonly identity: GpuIdentity;
  readonly uuid: string;
  readonly region: SharedRegion;
  readonly #clients = new Map<string, Client>();
  readonly #idleAt = new Map<number, number>();
  #turns: TurnKeeper | undefined;
  #recalledAt = 0;

  /** Throws if the memory or a descriptor cannot be had. */
  constructor(identity: GpuIdentity, agentPid: number) {
    this.identity = identity;
    this.uuid = formatUuid(identity.uuid);
    this.region = new SharedRegion(identity, agentPid);
  }

  /** They use the GPU. */
  get clients(): readonly Client[] {
    return this.everyone.filter(({ holdsOnly }) => !holdsOnly);
  }

  /** All that have a slot. */
  get everyone(): readonly Client[] {
    return [...this.#clients.values()];
  }

  at(kind: ClientClass, slot: number): Client | undefined {
    return this.#clients.get(`${kind} ${slot}`);
  }

  take(applicant: Applicant, now: Nanos): Client | undefined {
    for (let slot = 0; slot < capacity[applicant.class]; slot++)
      if (!this.at(applicant.class, slot)) return this.#takeSlot(applicant, slot, now);
    return undefined;
  }

  #takeSlot(applicant: Applicant, slot: number, now: Nanos): Client {
    const client: Client = { ...applicant, slot, connected: true };
    try {
      for (const part of partsOf(client)) this.region.add(part);
      this.#enter(client, now);
    } catch (error) {
      this.release(client, now);
      throw error;
    }
    if (client.class === "best-effort") this.#holdForAbsent(slot);
    return client;
  }

  /** Returns undefined if the files of the last agent do not fit. */
  reattach(
    applicant: Applicant,
    slot: number,
    files: readonly string[],
    now: Nanos,
  ): Client | undefined {
    const client: Client = { ...applicant, slot, connected: true };
    const parts = partsOf(client);
    if (slot < 0 || slot >= capacity[client.class] || files.length !== parts.length)
      return undefined;
    if (!parts.every((part, i) => this.region.takeOver(part, files[i] ?? ""))) {
      for (const part of parts) this.region.remove(part);
      return undefined;
    }
    this.#enter(client, now);
    return client;
  }

  #enter(client: Client, now: Nanos): void {
    this.#clients.set(`${client.class} ${client.slot}`, client);
    const own = this.region.memory.bestEffort[client.slot];
    if (client.class === "best-effort" && own) {
      own.memoryQuota = client.memoryQuota;
    }
    this.#writeRoster();
    if (client.class === "best-effort" && this.#bestEffort.length === 1) {
      this.region.memory.roster.turn = client.slot;
      this.region.memory.roster.turnSince = now;
    }
  }

  /** A high client that has not come back may be in a burst, and does not have this page yet. */
  #holdForAbsent(slot: number): void {
    const page = this.region.memory.holds[slot];
    const absent = this.clients.filter((client) => client.class === "high" && !client.connected);
    for (const high of absent) this.region.setActive(slot, high.slot, true);
    if (page && absent.length > 0) page.word = 1;
  }

  recall(records: readonly ClientRecord[], now: Nanos): void {
    this.#recalledAt = now;
    for (const { class: kind, slot, pid, startTime, name, statedSlo } of records)
      this.#enter(
        {
          class: kind,
          slot,
          pid,
          startTime,
          name: printable(name),
          ...defaultApplicant,
          ...(statedSlo && statedObjective(parseObjective(statedSlo))),
          connected: false,
        },
        now,
      );
  }

  release(client: Client, now: Nanos): void {
    this.#clients.delete(`${client.class} ${client.slot}`);
    for (const part of partsOf(client)) this.region.remove(part);
    this.#writeRoster();
    if (client.class === "high") this.#endBursts(client.slot, now);
    else this.#passTurnOn(client.slot, now);
  }

  holdFile(slot: number): number | undefined {
    return this.region.file({ kind: "hold", slot });
  }

  /** Returns the version that high clients confirm in their slots. */
  announceHolds(): number {
    const { roster } = this.region.memory;
    roster.holdsVersion = roster.holdsVersion + 1;
    return roster.holdsVersion;
  }

  heal(now: Nanos): void {
    for (const { slot } of this.#bestEffort) {
      for (let high = 0; high < capacity.high; high++)
        if (!this.#isThere(high, now)) this.#endBurst(slot, high, now);
      // If no burst ran since the last sample, nothing justifies a hold.
      const page = this.region.memory.holds[slot];
      const idle = page?.active === 0 ? page.activations : undefined;
      if (page && idle !== undefined && idle === this.#idleAt.get(slot) && page.word !== 0)
        this.#openIfIdle(slot, now);
      if (idle === undefined) this.#idleAt.delete(slot);
      else this.#idleAt.set(slot, idle);
    }
  }

  // A high client that does not come back in time is stopped. If it continues, it sets its bits.
  #isThere(high: number, now: Nanos): boolean {
    const client = this.at("high", high);
    return client !== undefined && (client.connected || now - this.#recalledAt < COMES_BACK_WITHIN);
  }

  /** While the rule `paused` is set, nothing opens these holds again. */
  holdAll(): void {
    for (const { slot } of this.#bestEffort) {
      const page = this.region.memory.holds[slot];
      if (page) page.word = 1;
    }
  }

  close(): void {
    this.#turns?.stop();
    this.region.close();
  }

  get #bestEffort(): readonly Client[] {
    return this.clients.filter((client) => client.class === "best-effort");
  }

  #writeRoster(): void {
    const { roster } = this.region.memory;
    const taken = this.#bestEffort;
    roster.registered = this.#clients.size - taken.length;
    roster.bestEffort = bits(taken);
    const shares = turnShares(taken.map((one) => ({ job: jobId(one), share: one.share })));
    taken.forEach(({ slot }, i) => void roster.shares.set(slot, shares[i] ?? 1));
    if (taken.length > 1) this.#turns ??= keepTurns(this.region);
    else {
      this.#turns?.stop();
      this.#turns = undefined;
      roster.waiting = 0;
    }
  }

  #endBursts(high: number, now: Nanos): void {
    for (const { slot } of this.#bestEffort) this.#endBurst(slot, high, now);
  }

  #endBurst(slot: number, high: number, now: Nanos): void {
    if (!this.region.isActive(slot, high)) return;
    this.region.setActive(slot, high, false);
    this.#openIfIdle(slot, now);
  }

  #openIfIdle(slot: number, now: Nanos): void {
    const { holds, settings } = this.region.memory;
    const page = holds[slot];
    if (page?.active !== 0 || settings.paused !== 0) return;
    page.idleSince = now;
    page.word = 0;
    // A burst may have begun in between, and this store overwritten its hold.
    if (page.active !== 0 && settings.protect !== 0) page.word = 1;
  }

  #passTurnOn(from: number, now: Nanos): void {
    const { roster } = this.region.memory;
    const taken = bits(this.#bestEffort);
    const wanted = roster.waiting & taken;
    const next = nextBit(wanted === 0 ? taken : wanted, from);
    if (next !== undefined && this.region.passTurn(from, next)) roster.turnSince = now;
  }
}

const bits = (clients: readonly Client[]): number =>
  clients.reduce((all, { slot }) => all | (1 << slot), 0);

function nextBit(bits: number, from: number): number | undefined {
  for (let step = 1; step <= 32; step++) {
    const bit = (from + step) % 32;
    if (bits & (1 << bit)) return bit;
  }
  return undefined;
}
