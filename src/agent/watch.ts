// What the agent sees and what follows from it: a meter per client, the last reading of each GPU, the
// rules of the policy in force, and all of it as one Status.
import { type Clock, kept, wallNow } from "#core";
import {
  type Memory,
  type MeteredHigh,
  type Objective,
  type Observed,
  type Overrides,
  type Policy,
  type RequestsSeen,
  recommendMode,
  slowdownOf,
  withOverrides,
} from "#policy";
import { type Rules, ruleNames, rules as ruleTable, whenActive } from "#protocol";
import type { ClientStanding, Standing } from "./changes.ts";
import type { Client, ServedGpu } from "./gpus/gpu.ts";
import type { GpuHealth } from "./health/index.ts";
import { Meters } from "./metrics/meters.ts";
import type { Requests } from "./requests/requests.ts";
import { toldSeen, toldStatus } from "./requests/told.ts";
import type { GpuReading, Sensor } from "./sensor.ts";
import { ShareBounds, type ShareOfPod } from "./shares/share-bounds.ts";
import { SmShares } from "./shares/sm-shares.ts";
import type { BestEffortStatus, ClientStatus, GpuStatus, HighStatus } from "./status.ts";
import { idOf, Units } from "./steps/units.ts";
import { commandOf, isStopped } from "./system/index.ts";
import {
  HoldTrials,
  type Identity,
  type Ignored,
  type Stranger,
  Strangers,
} from "./tenants/index.ts";

/** The driver's figure is about the last second, and the window about four. */
const BEYOND_REQUESTS = 0.4;

/** In a trial of holds, where the trickle would look as if a hold were ignored, and on a GPU that must be relieved. */
const standStill = {
  paused: 1,
  trickleAfterUs: ruleTable.trickleAfterUs.most,
  trickleEveryUs: ruleTable.trickleEveryUs.most,
};

interface WatchOptions {
  /** Clients need not trust each other: who seems to ignore its hold is tried, which pauses the others, too. */
  readonly tenants: boolean;
  readonly isolated: boolean;
  readonly policy: Policy;
  readonly overrides: Overrides;
  readonly sensor: Sensor;
  /** Left out: no service tells of its requests. */
  readonly requests?: Requests;
  /** Left out: no GPU is judged. */
  readonly health?: () => Pick<GpuHealth, "holds" | "status" | "use">;
  /** Why somebody wants best-effort work of a GPU to stand still; undefined: nobody does. */
  readonly askedHold?: (uuid: string) => string | undefined;
  /** Left out: nobody gives shares. */
  readonly askedShare?: ShareOfPod;
  readonly clock: Clock;
  /** Of a uid; undefined: not known. */
  readonly userName?: (uid: number) => string | undefined;
}

type Metered = Observed & { readonly high: readonly MeteredHigh[] };

export class Watch {
  readonly #options: WatchOptions;
  readonly meters = new Meters();
  readonly #units = new Units(this.meters);
  /** Command lines, which are read once. */
  readonly #commands = new WeakMap<Client, string | undefined>();
  /** Requests since the look before the last. */
  readonly #requests = new WeakMap<Client, RequestsSeen>();
  /** With the name of the user, where it is known. */
  readonly #named = new WeakMap<Identity, Identity>();
  /** The last of each client: the same object while nothing of it changes. */
  readonly #highStatuses = new WeakMap<Client, HighStatus>();
  readonly #bestEffortStatuses = new WeakMap<Client, BestEffortStatus>();
  /** Of a policy that learns. */
  readonly #memories = new WeakMap<ServedGpu, Memory>();
  readonly #trials = new WeakMap<ServedGpu, HoldTrials<Client>>();
  readonly #strangers: Strangers;
  /** By GPU: how much slower its slowest high client is than alone. */
  readonly #lateness = new Map<string, number | undefined>();
  readonly #smShares: SmShares;
  readonly #shareBounds: ShareBounds;
  #readings: readonly GpuReading[];
  #sampledAt: number;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#strangers = new Strangers(process.pid, () => options.clock.now());
    this.#sampledAt = options.clock.now();
    this.#shareBounds = new ShareBounds(options.askedShare ?? (() => undefined));
    this.#smShares = new SmShares(options.clock.now(), wallNow());
    this.#readings = options.sensor.read();
  }

  get readings(): readonly GpuReading[] {
    return this.#readings;
  }

  readSensor(): void {
    this.#readings = this.#options.sensor.read();
  }

  /** A few times a second: a sample of each client, then the rules that follow. Returns who was just seen to ignore its hold. */
  lookAndDecide(
    gpus: readonly ServedGpu[],
  ): readonly (Ignored<Client> & { readonly gpu: string })[] {
    const now = this.#options.clock.now();
    const ignored: (Ignored<Client> & { readonly gpu: string })[] = [];
    for (const gpu of gpus) {
      for (const client of gpu.clients) {
        this.meters.sample(gpu, client, now);
        this.#requests.set(client, this.#requestsSeen(gpu, client));
        this.#tellWhetherServed(gpu, client);
      }
      ignored.push(...this.#lookAtHolds(gpu, now).map((one) => ({ ...one, gpu: gpu.uuid })));
      const active = gpu.clients.map((client) => this.meters.high(gpu, client)?.activeShare());
      this.#smShares.observe(
        gpu.uuid,
        now,
        active.filter((share) => share !== undefined),
      );
      const observed = this.#observed(gpu);
      this.#remember(gpu, observed, now);
      this.writeRules(gpu, observed);
      this.#lateness.set(gpu.uuid, this.#latenessOn(gpu));
    }
    this.#sampledAt = now;
    return ignored;
  }

  #requestsSeen(gpu: ServedGpu, client: Client): RequestsSeen {
    const own = toldBy(client) && this.meters.requests(gpu, client);
    return own && client.sloRequests
      ? toldSeen(own, client.sloRequests)
      : this.#options.requests?.take(client);
  }

  #requestsStatus(gpu: ServedGpu, client: Client): HighStatus["requests"] {
    const own = toldBy(client) && this.meters.requests(gpu, client);
    return own && client.sloRequests
      ? toldStatus(own, client.sloRequests)
      : this.#options.requests?.status(client);
  }

  /** A service whose endpoint answers has started up. */
  #tellWhetherServed(gpu: ServedGpu, client: Client): void {
    const slot = client.class === "high" ? gpu.region.memory.high[client.slot] : undefined;
    if (!slot || client.sloMetrics === "") return;
    const { unheard } = this.#options.requests?.status(client) ?? { unheard: "" };
    slot.serves = unheard === undefined ? 1 : 0;
  }

  #lookAtHolds(gpu: ServedGpu, now: number): readonly Ignored<Client>[] {
    const { tenants, isolated, sensor } = this.#options;
    const bestEffort = gpu.clients.filter((client) => client.class === "best-effort");
    const trials = this.#trials.get(gpu) ?? new HoldTrials<Client>();
    this.#trials.set(gpu, trials);
    const held = gpu.clients.some((client) => client.class === "high");
    if (!tenants || !isolated || !held || bestEffort.length === 0) return [];
    const closed = this.#closedNs(gpu, now - this.#sampledAt);
    return trials.look(now, closed, bestEffort, () => sensor.use(gpu.uuid));
  }

  /** For how long of the last so many ns high clients held best-effort work, rather too little than too much. */
  #closedNs(gpu: ServedGpu, span: number): number {
    const { protect, whenActive: may, holdAfterUs } = gpu.region.memory.settings;
    if (protect === 0 || may !== whenActive.wait || holdAfterUs > 0) return 0;
    const held = gpu.clients.map((client) => {
      const ns = this.meters.high(gpu, client)?.heldNs() ?? 0;
      // Best-effort clients go on beside one that stands still.
      return ns >= span && isStopped(client.pid) ? 0 : ns;
    });
    return Math.min(span, Math.max(0, ...held));
  }

  writeRules(gpu: ServedGpu, observed = this.#observed(gpu)): void {
    const { policy, overrides } = this.#options;
    const decided = this.#shareBounds.within(
      withOverrides(policy.rules(observed, this.#memories.get(gpu)), overrides),
      gpu,
      observed,
    );
    const pauses =
      this.#trials.get(gpu)?.pauses === true ||
      this.#options.health?.().holds(gpu.uuid) === true ||
      this.#options.askedHold?.(gpu.uuid) !== undefined;
    const rules = pauses ? { ...decided, ...standStill } : decided;
    for (const name of ruleNames) gpu.region.memory.settings[name] = rules[name];
    if (pauses) gpu.holdAll();
  }

  /** How much slower the slowest high client of a GPU is than alone; undefined: of none that is known. */
  lateness(uuid: string): number | undefined {
    return this.#lateness.get(uuid);
  }

  #latenessOn(gpu: ServedGpu): number | undefined {
    const memory = this.#memories.get(gpu);
    const known = gpu.clients.flatMap((client) => {
      const alone = aloneIn(memory, this.#units.idOf(gpu, client));
      const burstWaitP99Us = this.#units.waitP99Us(gpu, client);
      return alone ? [slowdownOf({ burstWaitP99Us }, alone) ?? 0] : [];
    });
    return known.length > 0 ? Math.max(...known) : undefined;
  }

  #remember(gpu: ServedGpu, observed: Metered, now: number): void {
    const { policy } = this.#options;
    if (!policy.remember) return;
    const seen = {
      ...observed,
      nowMs: now / 1e6,
      gpu: this.#options.health?.().use(gpu.uuid),
      smShare: this.#smShares.of(gpu.uuid)?.share,
      colocated: this.#colocated(gpu),
      held: this.#held(gpu),
    };
    this.#memories.set(gpu, policy.remember(seen, this.#memories.get(gpu)));
  }

  /** Best-effort work waited for high clients. */
  #held(gpu: ServedGpu): boolean {
    const meters = gpu.clients.flatMap((client) => this.meters.bestEffort(gpu, client) ?? []);
    return meters.some((meter) => meter.past().heldNs > 0);
  }

  /** That nothing of best-effort clients ran is believed unless the driver sees the GPU busy with more than requests. */
  #colocated(gpu: ServedGpu): boolean | undefined {
    const meters = gpu.clients.flatMap((client) => this.meters.bestEffort(gpu, client) ?? []);
    if (meters.some((meter) => meter.ran())) return true;
    const { utilisation = 0 } = this.#readings.find(({ uuid }) => uuid === gpu.uuid) ?? {};
    if (meters.length === 0 || utilisation <= BEYOND_REQUESTS) return false;
    const shares = gpu.clients.map((client) => this.meters.high(gpu, client)?.activeShare());
    const requests = shares.reduce<number>((sum, share = 0) => sum + share, 0);
    return utilisation > requests + BEYOND_REQUESTS ? undefined : false;
  }

  #observed(gpu: ServedGpu): Metered {
    const { isolated } = this.#options;
    return { isolated, smCount: gpu.identity.smCount, high: this.#seenHigh(gpu) };
  }

  #seenHigh(gpu: ServedGpu): readonly MeteredHigh[] {
    return gpu.clients.flatMap((client) => {
      const seen = this.#units.seen(gpu, client);
      if (!seen) return [];
      const { name, training } = client;
      return [
        {
          id: this.#units.idOf(gpu, client),
          name,
          ...seen,
          objective: objectiveOf(client),
          launches: this.meters.high(gpu, client)?.launched(),
          requests: this.#requests.get(client),
          soloUs: client.soloUs || undefined,
          gpuShare: client.gpuSharePermille / 1000 || undefined,
          training: client.soloUs ? training : undefined,
        },
      ];
    });
  }

  #objective(gpu: ServedGpu, client: Client): HighStatus["objective"] {
    const memory = this.#memories.get(gpu);
    const { state, tightest } = memory?.clients.get(this.#units.idOf(gpu, client)) ?? {};
    return memory && state && objectiveOf(client) && { state, level: memory.level, tightest };
  }

  #gaps(gpu: ServedGpu, client: Client): HighStatus["gaps"] {
    const memory = this.#memories.get(gpu);
    const { state, gaps } = memory?.clients.get(this.#units.idOf(gpu, client)) ?? {};
    return memory && state && gaps ? { state, level: memory.level } : undefined;
  }

  status(gpus: readonly ServedGpu[]): readonly GpuStatus[] {
    const served = new Map(gpus.map((gpu) => [gpu.uuid, gpu]));
    const listed = this.#readings.map((reading) =>
      this.#gpuStatus(reading.uuid, reading, served.get(reading.uuid), gpus),
    );
    const unlisted = gpus
      .filter(({ uuid }) => !this.#readings.some((reading) => reading.uuid === uuid))
      .map((gpu) => this.#gpuStatus(gpu.uuid, undefined, gpu, gpus));
    return [...listed, ...unlisted];
  }

  /** Call it after each reading: strangers of whom nobody was told of yet. */
  untoldStrangers(gpus: readonly ServedGpu[]): readonly (Stranger & { readonly gpu: string })[] {
    return this.#strangers.takeUnreported(this.#readings, clientPids(gpus));
  }

  /** Strangers that are clients of another agent, on any GPU. */
  clientsOfOthers(gpus: readonly ServedGpu[]): readonly (Stranger & { readonly gpu: string })[] {
    const known = clientPids(gpus);
    return this.#readings.flatMap((reading) =>
      this.#strangers
        .on(reading, known)
        .filter(({ agentPid }) => agentPid !== undefined)
        .map((stranger) => ({ ...stranger, gpu: reading.uuid })),
    );
  }

  standings(gpus: readonly ServedGpu[]): readonly Standing[] {
    return gpus.map((gpu) => ({
      gpu: gpu.uuid,
      paused: gpu.region.memory.settings.paused === 1,
      level: this.#memories.get(gpu)?.level,
      clients: gpu.clients.flatMap((client) => this.#clientStanding(gpu, client) ?? []),
    }));
  }

  #clientStanding(gpu: ServedGpu, client: Client): ClientStanding | undefined {
    const { class: kind, name, pid, slot } = client;
    const { high, bestEffort } = gpu.region.memory;
    const own = kind === "high" ? high[slot] : bestEffort[slot];
    return (
      own && {
        id: idOf(client),
        facts: { client: name, class: kind, pid },
        high: kind === "high",
        state: this.#objective(gpu, client)?.state,
        caveats: own.caveats,
        unhooked: own.unhooked,
        memoryRefusals: kind === "high" ? 0 : (bestEffort[slot]?.memoryRefusals ?? 0),
      }
    );
  }

  #gpuStatus(
    uuid: string,
    reading: GpuReading | undefined,
    gpu: ServedGpu | undefined,
    gpus: readonly ServedGpu[],
  ): GpuStatus {
    const clients = gpu?.clients ?? [];
    const memories = memoriesIn(reading);
    return {
      uuid,
      name: reading?.name ?? gpu?.identity.name ?? "",
      reading: reading && {
        error: reading.error,
        memoryTotal: reading.memoryTotal,
        memoryUsed: reading.memoryUsed,
        utilisation: reading.utilisation,
        memoryUtilisation: reading.memoryUtilisation,
        smClockMHz: reading.smClockMHz,
        powerW: reading.powerW,
      },
      health: this.#options.health?.().status(uuid),
      heldBecause: this.#options.askedHold?.(uuid),
      smShare: this.#smShares.of(uuid),
      shareBound: gpu && this.#shareBounds.of(gpu),
      served: gpu && servedStatus(gpu),
      recommended: gpu && this.#recommended(gpu),
      high: clients.flatMap((client) => this.#highStatus(gpu, client, memories)),
      bestEffort: clients.flatMap((client) =>
        this.#bestEffortStatus(gpu, client, reading, memories),
      ),
      strangers: this.#strangers
        .on(reading, clientPids(gpus))
        .map((one) => ({ ...one, identity: this.withName(one.identity) })),
    };
  }

  /** The identity with the name of its user, if that is known by now. */
  withName(identity: Identity | undefined): Identity | undefined {
    const user = identity && this.#options.userName?.(identity.uid);
    if (!identity || user === undefined) return identity;
    const before = this.#named.get(identity);
    const named = before?.user === user ? before : { ...identity, user };
    this.#named.set(identity, named);
    return named;
  }

  #recommended(gpu: ServedGpu): GpuStatus["recommended"] {
    const both = ["high", "best-effort"].every((kind) =>
      gpu.clients.some((client) => client.class === kind),
    );
    return both ? recommendMode(this.#observed(gpu)) : undefined;
  }

  #clientStatus(client: Client, memories: Memories): ClientStatus {
    const { class: kind, name, pid, slot, connected, grant } = client;
    const identity = this.withName(client.identity);
    if (!this.#commands.has(client)) this.#commands.set(client, commandOf(pid));
    const command = this.#commands.get(client);
    const gpuMemory = memories.get(pid);
    return { class: kind, name, pid, slot, connected, identity, grant, gpuMemory, command };
  }

  #highStatus(gpu: ServedGpu | undefined, client: Client, memories: Memories): HighStatus[] {
    const meter = gpu && this.meters.high(gpu, client);
    if (!meter) return [];
    const { p99Us, slowdown, requests } = objectiveOf(client) ?? {};
    const measured = meter.measure();
    const alone = aloneIn(this.#memories.get(gpu), this.#units.idOf(gpu, client));
    const steps = this.meters.steps(gpu, client);
    // Not by spreads: a second one into an object takes tens of microseconds (Node 20), and there are many clients.
    const status = Object.assign(
      this.#clientStatus(client, memories),
      {
        sloP99Us: p99Us,
        sloSlowdown: slowdown,
        sloRequests: requests,
        requests: this.#requestsStatus(gpu, client),
        told: this.meters.requests(gpu, client)?.measure(),
        steps: steps?.measure(),
        stepHistograms: steps?.histograms(),
        unit: this.#units.of(gpu, client),
        objective: this.#objective(gpu, client),
        gaps: this.#gaps(gpu, client),
        alone,
        slowdown: slowdownOf({ burstWaitP99Us: this.#units.waitP99Us(gpu, client) }, alone),
      },
      measured,
      meter.sinceAttached(),
    );
    return [keptIn(this.#highStatuses, client, status)];
  }

  #bestEffortStatus(
    gpu: ServedGpu | undefined,
    client: Client,
    reading: GpuReading | undefined,
    memories: Memories,
  ): BestEffortStatus[] {
    const meter = gpu && this.meters.bestEffort(gpu, client);
    if (!meter) return [];
    const measured = meter.measure();
    // The client writes this figure itself: what no GPU could hold is not shown.
    const memoryUsed = Math.min(measured.memoryUsed, reading?.memoryTotal ?? Infinity);
    const hold = this.#trials.get(gpu)?.of(client);
    const status = Object.assign(this.#clientStatus(client, memories), measured, {
      memoryUsed,
      hold,
      givenShare: this.#shareBounds.givenTo(gpu, client),
    });
    return [keptIn(this.#bestEffortStatuses, client, status)];
  }
}

/** By pid. */
type Memories = ReadonlyMap<number, number | undefined>;

const memoriesIn = (reading: GpuReading | undefined): Memories =>
  new Map(
    [...(reading?.mpsProcesses ?? []), ...(reading?.processes ?? [])].map(
      ({ pid, memory }) => [pid, memory] as const,
    ),
  );

function keptIn<S>(statuses: WeakMap<Client, S>, client: Client, now: S): S {
  const same = kept(statuses.get(client), now);
  statuses.set(client, same);
  return same;
}

/** Its objective is about requests, and no endpoint tells of them: the program does. */
const toldBy = ({ sloRequests, sloMetrics }: Client): boolean =>
  sloRequests !== undefined && sloMetrics === "";

/** Of a training the policy knows its throughput alone, and perhaps no burst. */
function aloneIn(memory: Memory | undefined, id: string): HighStatus["alone"] {
  const { reference, gaps } = memory?.clients.get(id) ?? {};
  // It is of bursts under `strict` then.
  if (gaps) return undefined;
  const { p99Us, waitedP99Us } = reference ?? {};
  const known = Number.isFinite(p99Us) && Number.isFinite(waitedP99Us);
  return known && p99Us !== undefined && waitedP99Us !== undefined
    ? { p99Us, waitedP99Us }
    : undefined;
}

function objectiveOf(client: Client): Objective | undefined {
  const { sloP99Us, sloSlowdownPermille, sloRequests: requests } = client;
  if (!sloP99Us && !sloSlowdownPermille && !requests) return undefined;
  return {
    p99Us: sloP99Us || undefined,
    slowdown: sloSlowdownPermille / 1000 || undefined,
    requests,
  };
}

function servedStatus({ identity, region }: ServedGpu): GpuStatus["served"] {
  const { settings } = region.memory;
  const rules = Object.fromEntries(ruleNames.map((name) => [name, settings[name]]));
  // The names are exactly the keys of Rules.
  return { smCount: identity.smCount, rules: rules as Rules };
}

const clientPids = (gpus: readonly ServedGpu[]): ReadonlySet<number> =>
  new Set(gpus.flatMap(({ clients }) => clients.map(({ pid }) => pid)));
