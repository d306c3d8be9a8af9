import { kept } from "#core";
import { type Memory, type Metered, recommendMode, slowdownOf } from "#policy";
import { oldRuleNames, type Rules, ruleNames } from "#protocol";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { GpuHealth } from "../health/index.ts";
import { jobId } from "../jobs/job-name.ts";
import type { ClientStanding, Standing } from "../log/changes.ts";
import type { Meters } from "../meters/meters.ts";
import { idOf, type Units } from "../meters/units.ts";
import type { PairMeters } from "../pairs/pair-meters.ts";
import { reportedStatus, reportingMeter } from "../requests/reported.ts";
import type { Requests } from "../requests/requests.ts";
import type { GpuReading } from "../sensors/sensor.ts";
import type { ShareBounds } from "../shares/share-bounds.ts";
import type { SmShares } from "../shares/sm-shares.ts";
import { statedStatus } from "../status/stated.ts";
import type { BestEffortStatus, ClientStatus, GpuStatus, HighStatus } from "../status/status.ts";
import { commandOf } from "../system/index.ts";
import type { HoldRecord, Identity } from "../tenants/index.ts";
import type { UntrackedProcesses } from "../untracked/index.ts";
import { type Triton, tritonOf } from "../variants/index.ts";
import { aloneIn, clientPids } from "./client-facts.ts";
import { caveatsOf, heldForJobs } from "./job-gpus.ts";

interface Watched {
  readonly now: () => number; // ns
  readonly meters: Meters;
  readonly units: Units;
  readonly pairs: Pick<PairMeters, "work" | "latencies">;
  readonly strangers: UntrackedProcesses;
  readonly smShares: SmShares;
  readonly shareBounds: ShareBounds;
  readings(): readonly GpuReading[];
  memory(gpu: ServedGpu): Memory | undefined;
  hold(gpu: ServedGpu, client: Client): HoldRecord | undefined;
  observed(gpu: ServedGpu): Metered;
  readonly judgesObjectives: boolean;
  readonly requests?: Pick<Requests, "status"> | undefined;
  readonly health?: (() => Pick<GpuHealth, "status">) | undefined;
  readonly askedHold?: ((uuid: string) => string | undefined) | undefined;
  readonly userName?: ((uid: number) => string | undefined) | undefined;
}

export class Statuses {
  readonly #watched: Watched;
  readonly #commands = new WeakMap<Client, string | undefined>();
  readonly #named = new WeakMap<Identity, Identity>();
  /** An unchanged client keeps its object, which views compare. */
  readonly #highStatuses = new WeakMap<Client, HighStatus>();
  readonly #bestEffortStatuses = new WeakMap<Client, BestEffortStatus>();
  readonly #tritons = new WeakMap<Client, TritonLook>();

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  of(gpus: readonly ServedGpu[]): readonly GpuStatus[] {
    const served = new Map(gpus.map((gpu) => [gpu.uuid, gpu]));
    const all = { gpus, heldBy: heldForJobs(gpus) };
    const listed = this.#watched
      .readings()
      .map((reading) => this.#gpuStatus(reading.uuid, reading, served.get(reading.uuid), all));
    const unlisted = gpus
      .filter(({ uuid }) => !this.#watched.readings().some((reading) => reading.uuid === uuid))
      .map((gpu) => this.#gpuStatus(gpu.uuid, undefined, gpu, all));
    return [...listed, ...unlisted];
  }

  standings(gpus: readonly ServedGpu[]): readonly Standing[] {
    const heldBy = heldForJobs(gpus);
    return gpus.map((gpu) => ({
      gpu: gpu.uuid,
      paused: gpu.region.memory.settings.paused === 1,
      level: this.#watched.memory(gpu)?.level,
      clients: gpu.clients.flatMap((client) => this.standingOf(gpu, client, heldBy(client)) ?? []),
    }));
  }

  /** `held`: see heldForJobs. */
  standingOf(gpu: ServedGpu, client: Client, held: readonly string[]): ClientStanding | undefined {
    const { class: kind, name, pid, slot } = client;
    const { high, bestEffort } = gpu.region.memory;
    const own = kind === "high" ? high[slot] : bestEffort[slot];
    return (
      own && {
        id: idOf(client),
        facts: { client: name, class: kind, pid },
        high: kind === "high",
        state: this.#objective(gpu, client)?.state,
        caveats: caveatsOf(own.caveats, held),
        unhooked: own.unhooked,
        memoryRefusals: kind === "high" ? 0 : (bestEffort[slot]?.memoryRefusals ?? 0),
        memoryQuota: kind === "high" ? 0 : (bestEffort[slot]?.memoryQuota ?? 0),
      }
    );
  }

  #gpuStatus(
    uuid: string,
    reading: GpuReading | undefined,
    gpu: ServedGpu | undefined,
    { gpus, heldBy }: AllGpus,
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
      health: this.#watched.health?.().status(uuid),
      heldBecause: this.#watched.askedHold?.(uuid),
      samplingSolo: gpu !== undefined && this.#watched.memory(gpu)?.pausedUntilMs !== undefined,
      smShare: this.#watched.smShares.of(uuid),
      shareBound: gpu && this.#watched.shareBounds.of(gpu),
      served: gpu && servedStatus(gpu),
      recommended: gpu && this.#recommended(gpu),
      high: clients.flatMap((client) => this.#highStatus(gpu, client, memories, heldBy(client))),
      bestEffort: clients.flatMap((client) =>
        this.#bestEffortStatus(gpu, client, reading, memories),
      ),
      strangers: this.#watched.strangers
        .on(reading, clientPids(gpus))
        .map((one) => ({ ...one, identity: this.withName(one.identity) })),
    };
  }

  withName(identity: Identity | undefined): Identity | undefined {
    const user = identity && this.#watched.userName?.(identity.uid);
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
    if (!both) return undefined;
    const memory = this.#watched.memory(gpu);
    const { high, ...seen } = this.#watched.observed(gpu);
    return recommendMode({
      ...seen,
      high: high.map((one) => ({ ...one, leavesGaps: memory?.clients.get(one.id)?.gaps })),
    });
  }

  #clientStatus(client: Client, memories: Memories): ClientStatus {
    const { class: kind, name, pid, slot, connected, grant, isOlder: older } = client;
    const identity = this.withName(client.identity);
    if (!this.#commands.has(client)) this.#commands.set(client, commandOf(pid));
    const command = this.#commands.get(client);
    const gpuMemory = memories.get(pid);
    const of = { class: kind, name, pid, slot, job: jobId(client), rank: client.job.rank };
    return { ...of, connected, identity, grant, gpuMemory, older, command };
  }

  #highStatus(
    gpu: ServedGpu | undefined,
    client: Client,
    memories: Memories,
    holdsOn: readonly string[],
  ): HighStatus[] {
    const meter = gpu && this.#watched.meters.high(gpu, client);
    if (!meter) return [];
    const measured = meter.measure();
    const reference = this.#watched.units.referenceIdOf(gpu, client);
    const alone = aloneIn(this.#watched.memory(gpu), reference);
    const steps = this.#watched.meters.steps(gpu, client);
    // A second spread into an object takes tens of microseconds (Node 20), with many clients.
    const status = Object.assign(
      this.#clientStatus(client, memories),
      statedStatus(client.objective),
      {
        requests: this.#requestsStatus(gpu, client),
        told: this.#watched.meters.requests(gpu, client)?.measure(),
        reporters: this.#watched.meters.reportersOf(client).map(({ pid }) => pid),
        steps: steps?.measure(),
        stepHistograms: steps?.histograms(),
        unit: this.#watched.units.of(gpu, client),
        objective: this.#objective(gpu, client),
        gaps: this.#gaps(gpu, client),
        alone,
        latencies: this.#watched.pairs.latencies(client),
        slowdown: slowdownOf({ burstWaitP99Us: this.#watched.units.waitP99Us(gpu, client) }, alone),
      },
      measured,
      meter.sinceAttached(),
      { holdsOn, caveats: caveatsOf(measured.caveats, holdsOn) },
    );
    return [keptIn(this.#highStatuses, client, status)];
  }

  #bestEffortStatus(
    gpu: ServedGpu | undefined,
    client: Client,
    reading: GpuReading | undefined,
    memories: Memories,
  ): BestEffortStatus[] {
    const meter = gpu && this.#watched.meters.bestEffort(gpu, client);
    if (!meter) return [];
    const measured = meter.measure();
    // The client writes this figure itself: what no GPU could hold is not shown.
    const memoryUsed = Math.min(measured.memoryUsed, reading?.memoryTotal ?? Infinity);
    const hold = this.#watched.hold(gpu, client);
    const status = Object.assign(this.#clientStatus(client, memories), measured, {
      memoryUsed,
      work: this.#watched.pairs.work(client),
      hold,
      givenShare: this.#watched.shareBounds.givenTo(gpu, client),
      triton: gpu.region.memory.settings.preemptUs > 0 ? this.#triton(client) : undefined,
    });
    return [keptIn(this.#bestEffortStatuses, client, status)];
  }

  /** A program may load Triton late: its memory map is read again after twice as long each time. */
  #triton(client: Client): Triton | undefined {
    const last = this.#tritons.get(client);
    const now = this.#watched.now();
    if (last && (last.found || now < last.again)) return last.found;
    const since = last?.since ?? now;
    const found = client.connected ? tritonOf(client.pid) : undefined;
    this.#tritons.set(client, { found, since, again: now + Math.max(TRITON_AGAIN, now - since) });
    return found;
  }

  #objective(gpu: ServedGpu, client: Client): HighStatus["objective"] {
    if (!client.objective) return undefined;
    const memory = this.#watched.memory(gpu);
    const known = memory?.clients.get(this.#watched.units.idOf(gpu, client));
    if (memory && known) {
      const { state, tightest, mostStretch } = known;
      const stepless = known.stepless || undefined;
      return { state, level: memory.level, tightest, mostStretch, stepless };
    }
    return this.#watched.judgesObjectives
      ? { state: "learning", level: memory?.level ?? 0 }
      : undefined;
  }

  #gaps(gpu: ServedGpu, client: Client): HighStatus["gaps"] {
    const memory = this.#watched.memory(gpu);
    const { state, gaps } = memory?.clients.get(this.#watched.units.idOf(gpu, client)) ?? {};
    return memory && state && gaps ? { state, level: memory.level } : undefined;
  }

  #requestsStatus(gpu: ServedGpu, client: Client): HighStatus["requests"] {
    const own = reportingMeter(client, this.#watched.meters.requests(gpu, client));
    const limits = client.objective?.requests;
    return own && limits ? reportedStatus(own, limits) : this.#watched.requests?.status(client);
  }
}

interface AllGpus {
  readonly gpus: readonly ServedGpu[];
  readonly heldBy: ReturnType<typeof heldForJobs>;
}

interface TritonLook {
  readonly found: Triton | undefined;
  readonly since: number;
  readonly again: number;
}

const TRITON_AGAIN = 1e9; // ns
type Memories = ReadonlyMap<number, number | undefined>; // by pid

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

function servedStatus({ identity, region }: ServedGpu): GpuStatus["served"] {
  const { settings } = region.memory;
  const former = Object.entries(oldRuleNames).map(([old, name]) => [old, settings[name]]);
  const rules = Object.fromEntries([...ruleNames.map((name) => [name, settings[name]]), ...former]);
  return { smCount: identity.smCount, rules: rules as Rules };
}
