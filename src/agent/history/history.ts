import { bucketMiddle, whenActive } from "#protocol";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { HighMeter } from "../meters/high-meter.ts";
import type { Meters } from "../meters/meters.ts";
import type { StepMeter } from "../steps/step-meter.ts";
import { type ShareName, shareNames, sharesOf } from "./shares.ts";
import { TimeRing } from "./time-ring.ts";
import { type Burst, WorstBursts } from "./worst-bursts.ts";

const SECONDS = 15 * 60;
const MINUTES = 24 * 60;
/** A client may invent GPUs where the driver lists none. */
const MAX_GPUS = 32;

export type Resolution = "second" | "minute";

interface Remembered {
  readonly second: TimeRing<ShareName>;
  readonly minute: TimeRing<ShareName>;
}

/** `first` counts periods from 0 on the clock. */
export interface Stretch {
  readonly first: number;
  readonly means: Readonly<Record<ShareName, readonly (number | null)[]>>;
}

type BurstListener = (gpu: string, burst: Burst) => void;

export class History {
  readonly #meters: Meters;
  readonly #startedAt: number;
  /** The GPU that was noted longest ago comes first. */
  readonly #gpus = new Map<string, Remembered>();
  readonly #bursts = new WeakMap<Client, WorstBursts>();
  readonly #listeners = new Set<BurstListener>();
  #notedAt: number;

  constructor(meters: Meters, now: number) {
    this.#meters = meters;
    this.#startedAt = now / 1e9;
    this.#notedAt = now;
  }

  get startedAt(): number {
    return this.#startedAt;
  }

  note(gpus: readonly ServedGpu[], now: number): void {
    const spanNs = now - this.#notedAt;
    this.#notedAt = now;
    if (spanNs <= 0) return;
    for (const gpu of gpus) {
      this.#noteShares(gpu, now, spanNs);
      for (const client of gpu.clients) this.#noteBursts(gpu, client, now);
    }
  }

  #noteShares(gpu: ServedGpu, now: number, spanNs: number): void {
    if (gpu.clients.length === 0) return;
    const shares = sharesOf({
      spanNs,
      activeNs: gpu.clients.flatMap((one) => this.#meters.high(gpu, one)?.past().activeNs ?? []),
      bestEffort: gpu.clients.flatMap((one) => this.#meters.bestEffort(gpu, one)?.past() ?? []),
    });
    const rings = this.#remembered(gpu.uuid);
    for (const ring of [rings.second, rings.minute]) ring.note(now / 1e9, spanNs / 1e9, shares);
  }

  #remembered(uuid: string): Remembered {
    const rings = this.#gpus.get(uuid) ?? {
      second: new TimeRing(shareNames, 1, SECONDS),
      minute: new TimeRing(shareNames, 60, MINUTES),
    };
    this.#gpus.delete(uuid);
    this.#gpus.set(uuid, rings);
    const [oldest] = this.#gpus.keys();
    if (this.#gpus.size > MAX_GPUS && oldest !== undefined) this.#gpus.delete(oldest);
    return rings;
  }

  #noteBursts(gpu: ServedGpu, client: Client, now: number): void {
    const meter = this.#meters.high(gpu, client);
    const steps = this.#meters.steps(gpu, client);
    const longestOne = steps?.has ? longestStep(steps) : meter && longestBurst(meter);
    if (!meter || !longestOne) return;
    const bursts = this.#bursts.get(client) ?? new WorstBursts();
    this.#bursts.set(client, bursts);
    const aheadUs = meter.past().aheadMaxNs / 1e3;
    const burst = {
      at: now / 1e9,
      ...longestOne,
      aheadUs,
      beside: runsBeside(gpu),
      aheadSlot: aheadUs > 0 ? this.#mayRunAhead(gpu) : undefined,
    };
    bursts.note(burst);
    for (const listen of this.#listeners) listen(gpu.uuid, burst);
  }

  listen(listener: BurstListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #mayRunAhead(gpu: ServedGpu): number | undefined {
    const slots = gpu.clients.flatMap((one) => (one.class === "best-effort" ? one.slot : []));
    const { turn } = gpu.region.memory.roster;
    return slots.includes(turn) ? turn : slots[0];
  }

  worst(client: Client, now: number): readonly Burst[] {
    return this.#bursts.get(client)?.worst(now / 1e9) ?? [];
  }

  stretch(uuid: string, resolution: Resolution, now: number, most?: number): Stretch | undefined {
    const ring = this.#gpus.get(uuid)?.[resolution];
    if (!ring) return undefined;
    const until = Math.floor(now / 1e9 / ring.period);
    const first = Math.max(
      Math.floor(this.#startedAt / ring.period),
      until - Math.min(most ?? ring.capacity, ring.capacity - 1),
    );
    const means = (name: ShareName) => ring.means(name, first, until);
    return {
      first,
      means: {
        service: means("service"),
        bestEffort: means("bestEffort"),
        held: means("held"),
        recovered: means("recovered"),
      },
    };
  }

  recovered(uuid: string, since: number): number {
    return this.#gpus.get(uuid)?.minute.total("recovered", since) ?? 0;
  }

  bytes(clients: readonly Client[]): number {
    const rings = [...this.#gpus.values()].flatMap(({ second, minute }) => [second, minute]);
    const bursts = clients.flatMap((client) => this.#bursts.get(client) ?? []);
    return [...rings, ...bursts].reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

function runsBeside({ region, clients }: ServedGpu): boolean {
  const { protect, whenActive: may, coRunEveryUs, graceUs } = region.memory.settings;
  const allowed = protect === 0 || may !== whenActive.wait || coRunEveryUs > 0 || graceUs > 0;
  return allowed && clients.some((client) => client.class === "best-effort");
}

function longestStep(steps: StepMeter) {
  const step = steps.longest();
  return (
    step && { lastedUs: (step.end - step.begin) / 1e3, waitedUs: step.waited / 1e3, step: true }
  );
}

function longestBurst(meter: HighMeter) {
  const lastedUs = longest(meter.ended());
  if (lastedUs === undefined) return undefined;
  return { lastedUs, waitedUs: Math.min(lastedUs, longest(meter.waited()) ?? 0), step: false };
}

function longest(counts: Uint32Array | undefined): number | undefined {
  for (let bucket = (counts?.length ?? 0) - 1; bucket >= 0; bucket--)
    if ((counts?.[bucket] ?? 0) > 0) return bucketMiddle(bucket);
  return undefined;
}
