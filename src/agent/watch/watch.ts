import { type Clock, millisOf, type Nanos, wallNow } from "#core";
import {
  type Metered,
  type MeteredHigh,
  type Overrides,
  type Policy,
  PolicyLoop,
  type RequestSample,
} from "#policy";
import { ruleNames, rules as ruleTable, whenActive } from "#protocol";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { GpuHealth } from "../health/index.ts";
import { Meters } from "../meters/meters.ts";
import { idOf, Units } from "../meters/units.ts";
import { PairMeters } from "../pairs/pair-meters.ts";
import type { Reporters } from "../reporters/reporters.ts";
import { reportedRequests, reportingMeter } from "../requests/reported.ts";
import type { Requests } from "../requests/requests.ts";
import type { GpuReading, Sensor } from "../sensors/sensor.ts";
import { ShareBounds, type ShareOfPod } from "../shares/share-bounds.ts";
import { SmShares } from "../shares/sm-shares.ts";
import { isStopped } from "../system/index.ts";
import { ComplianceChecks, type Ignored } from "../tenants/index.ts";
import { type UntrackedProcess, UntrackedProcesses } from "../untracked/index.ts";
import { clientPids } from "./client-facts.ts";
import { JobGpus } from "./job-gpus.ts";
import { Lateness } from "./lateness.ts";
import { Statuses } from "./statuses.ts";

/** The driver's figure is about the last second, and the window about four. */
const BEYOND_REQUESTS = 0.4;

/** In a trial, minimum progress would look like an ignored hold. */
const standStill = {
  paused: 1,
  progressAfterUs: ruleTable.progressAfterUs.most,
  progressEveryUs: ruleTable.progressEveryUs.most,
};

interface WatchOptions {
  /** Clients need not trust each other: a suspicious one is tried, which pauses the others. */
  readonly tenants: boolean;
  readonly isolated: boolean;
  readonly policy: Policy;
  readonly overrides: Overrides;
  readonly sensor: Sensor;
  readonly requests?: Requests;
  readonly reporters?: Pick<Reporters, "of">;
  readonly health?: () => Pick<GpuHealth, "holds" | "status" | "use">;
  readonly askedHold?: (uuid: string) => string | undefined;
  readonly askedShare?: ShareOfPod;
  readonly clock: Clock;
  readonly userName?: (uid: number) => string | undefined;
}

export class Watch {
  readonly #options: WatchOptions;
  readonly meters: Meters;
  readonly #units: Units;
  readonly #pairs: PairMeters;
  readonly #jobGpus: JobGpus;
  /** These GPUs stand still for a reason that is not their service. */
  readonly #standing = new WeakSet<ServedGpu>();
  readonly #requests = new WeakMap<Client, RequestSample>();
  readonly #loops = new WeakMap<ServedGpu, PolicyLoop>();
  readonly #trials = new WeakMap<ServedGpu, ComplianceChecks<Client>>();
  readonly #strangers: UntrackedProcesses;
  readonly #lateness: Lateness;
  readonly #smShares: SmShares;
  readonly #shareBounds: ShareBounds;
  readonly statuses: Statuses;
  #readings: readonly GpuReading[];
  #sampledAt: number;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.meters = new Meters(options.reporters);
    this.#units = new Units(this.meters);
    this.#pairs = new PairMeters(this.meters, this.#units);
    this.#jobGpus = new JobGpus(this.meters);
    this.#lateness = new Lateness(this.#units);
    this.#strangers = new UntrackedProcesses(process.pid, () => options.clock.now());
    this.#sampledAt = options.clock.now();
    this.#shareBounds = new ShareBounds(options.askedShare ?? (() => undefined));
    this.#smShares = new SmShares(options.clock.now(), wallNow());
    this.#readings = options.sensor.read();
    const { requests, health, askedHold, userName } = options;
    this.statuses = new Statuses({
      ...{ requests, health, askedHold, userName },
      judgesObjectives: ["services", "objectives"].includes(options.policy.learnsFrom ?? ""),
      now: () => options.clock.now(),
      meters: this.meters,
      units: this.#units,
      pairs: this.#pairs,
      strangers: this.#strangers,
      smShares: this.#smShares,
      shareBounds: this.#shareBounds,
      readings: () => this.#readings,
      memory: (gpu) => this.#loops.get(gpu)?.memory,
      hold: (gpu, client) => this.#trials.get(gpu)?.of(client),
      observed: (gpu) => this.#observed(gpu),
    });
  }

  get readings(): readonly GpuReading[] {
    return this.#readings;
  }

  readSensor(): void {
    this.#readings = this.#options.sensor.read();
  }

  /** It runs a few times a second, and returns clients that just failed a trial. */
  lookAndDecide(
    gpus: readonly ServedGpu[],
  ): readonly (Ignored<Client> & { readonly gpu: string })[] {
    const now = this.#options.clock.now();
    const ignored: (Ignored<Client> & { readonly gpu: string })[] = [];
    const observedOn = new Map<ServedGpu, Metered>();
    this.#jobGpus.look(gpus);
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
      this.#samplePairs(gpu, observed, now);
      this.#remember(gpu, observed, now);
      this.writeRules(gpu, observed);
      observedOn.set(gpu, observed);
    }
    this.#lateness.update(gpus, (gpu) => ({
      at: now,
      high: observedOn.get(gpu)?.high ?? [],
      memory: this.#loop(gpu).memory,
      concurrent: this.#colocated(gpu),
    }));
    this.#sampledAt = now;
    return ignored;
  }

  #requestsSeen(gpu: ServedGpu, client: Client): RequestSample {
    const own = reportingMeter(client, this.meters.requests(gpu, client));
    this.#options.requests?.setReports(client, own !== undefined);
    const limits = client.objective?.requests;
    return own && limits
      ? reportedRequests(own, limits)
      : this.#options.requests?.take(client, this.meters.steps(gpu, client)?.seesSteps);
  }

  /** A service has started up if its endpoint answers, or another process reports its requests. */
  #tellWhetherServed(gpu: ServedGpu, client: Client): void {
    const slot = client.class === "high" ? gpu.region.memory.high[client.slot] : undefined;
    if (!slot) return;
    const isReported = this.meters
      .reportersOf(client)
      .some(({ counters: { requestsOpen, requestValues } }) => requestsOpen + requestValues > 0);
    const { unheard } = this.#options.requests?.status(client) ?? { unheard: "" };
    const isHeard = client.sloMetrics !== "" && unheard === undefined;
    const isTold = reportingMeter(client, this.meters.requests(gpu, client)) !== undefined;
    slot.serves = isReported || isHeard || (client.sloMetrics !== "" && isTold) ? 1 : 0;
  }

  #lookAtHolds(gpu: ServedGpu, now: number): readonly Ignored<Client>[] {
    const { tenants, isolated, sensor } = this.#options;
    const bestEffort = gpu.clients.filter((client) => client.class === "best-effort");
    const trials = this.#trials.get(gpu) ?? new ComplianceChecks<Client>();
    this.#trials.set(gpu, trials);
    const held = gpu.clients.some((client) => client.class === "high");
    if (!tenants || !isolated || !held || bestEffort.length === 0) return [];
    const closed = this.#closedNs(gpu, now - this.#sampledAt);
    return trials.look(now, closed, bestEffort, () => sensor.use(gpu.uuid));
  }

  /** Returns how long high clients held best-effort work, rather too little than too much. */
  #closedNs(gpu: ServedGpu, span: number): number {
    const { protect, whenActive: may, graceUs } = gpu.region.memory.settings;
    if (protect === 0 || may !== whenActive.wait || graceUs > 0) return 0;
    const held = gpu.clients.map((client) => {
      const ns = this.meters.high(gpu, client)?.heldNs() ?? 0;
      // Best-effort clients continue beside a stopped one.
      return ns >= span && isStopped(client.pid) ? 0 : ns;
    });
    return Math.min(span, Math.max(0, ...held));
  }

  writeRules(gpu: ServedGpu, observed = this.#observed(gpu)): void {
    const decided = this.#shareBounds.within(this.#loop(gpu).rules(observed), gpu, observed);
    const pauses =
      this.#trials.get(gpu)?.pauses === true ||
      this.#options.health?.().holds(gpu.uuid) === true ||
      this.#options.askedHold?.(gpu.uuid) !== undefined;
    const rules = pauses ? { ...decided, ...standStill } : decided;
    if (pauses) this.#standing.add(gpu);
    else this.#standing.delete(gpu);
    for (const name of ruleNames) gpu.region.memory.settings[name] = rules[name];
    if (pauses) gpu.holdAll();
  }

  /** The rules in memory were in force until now. */
  #samplePairs(gpu: ServedGpu, { high }: Metered, at: Nanos): void {
    const isPaused = gpu.region.memory.settings.paused === 1;
    const pausedBy = this.#standing.has(gpu) ? "apart" : "forShare";
    const paused = isPaused ? pausedBy : "no";
    this.#pairs.sample(gpu, { at, high, concurrent: this.#colocated(gpu), paused });
  }

  lateness(uuid: string): number | undefined {
    return this.#lateness.of(uuid);
  }

  #remember(gpu: ServedGpu, observed: Metered, now: Nanos): void {
    this.#loop(gpu).remember(() => ({
      ...observed,
      nowMs: millisOf(now),
      gpu: this.#options.health?.().use(gpu.uuid),
      smShare: this.#smShares.of(gpu.uuid)?.share,
      colocated: this.#colocated(gpu),
      jobs: this.#jobs(gpu),
      held: this.#held(gpu),
    }));
  }

  #loop(gpu: ServedGpu): PolicyLoop {
    const { policy, overrides } = this.#options;
    const known = this.#loops.get(gpu) ?? new PolicyLoop(policy, overrides);
    this.#loops.set(gpu, known);
    return known;
  }

  #jobs(gpu: ServedGpu): readonly string[] {
    const working = gpu.clients.filter((client) => {
      const meter = this.meters.bestEffort(gpu, client);
      return meter && (meter.ran() || meter.past().heldNs > 0);
    });
    return working.map(idOf);
  }

  #held(gpu: ServedGpu): boolean {
    const meters = gpu.clients.flatMap((client) => this.meters.bestEffort(gpu, client) ?? []);
    return meters.some((meter) => meter.past().heldNs > 0);
  }

  // Trusts "nothing ran" of best-effort clients, unless the driver sees the GPU busier than
  // requests explain.
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
    const now = this.#options.clock.now();
    return gpu.clients.flatMap((client) => {
      const seen = this.#units.seen(gpu, client, now);
      if (!seen) return [];
      const { name, training } = client;
      return [
        {
          id: this.#units.idOf(gpu, client),
          name,
          ...seen,
          objective: client.objective,
          launches: this.meters.high(gpu, client)?.launched(),
          requests: this.#requests.get(client),
          soloUs: client.soloUs || undefined,
          gpuShare: client.gpuSharePermille / 1000 || undefined,
          training: client.soloUs ? training : undefined,
        },
      ];
    });
  }

  unreportedProcesses(
    gpus: readonly ServedGpu[],
  ): readonly (UntrackedProcess & { readonly gpu: string })[] {
    return this.#strangers.takeUnreported(this.#readings, clientPids(gpus));
  }

  clientsOfOthers(
    gpus: readonly ServedGpu[],
  ): readonly (UntrackedProcess & { readonly gpu: string })[] {
    const known = clientPids(gpus);
    return this.#readings.flatMap((reading) =>
      this.#strangers
        .on(reading, known)
        .filter(({ agentPid }) => agentPid !== undefined)
        .map((stranger) => ({ ...stranger, gpu: reading.uuid })),
    );
  }
}
