import type { MeteredHigh } from "#policy";
import { parkStates } from "#protocol";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { Meters } from "../meters/meters.ts";
import { idOf, type Units } from "../meters/units.ts";
import { type LatencyMeasure, LatencyMeter } from "./latency-meter.ts";
import { type SampleKind, type WorkMeasure, WorkMeter } from "./work-meter.ts";

interface Sample {
  readonly at: number;
  readonly high: readonly MeteredHigh[];
  readonly concurrent: boolean | undefined;
  /** `apart`: it is paused for a reason that has nothing to do with the pair. */
  readonly paused: "no" | "forShare" | "apart";
}

export class PairMeters {
  readonly #meters: Meters;
  readonly #units: Units;
  readonly #work = new WeakMap<Client, WorkMeter>();
  readonly #latencies = new WeakMap<Client, LatencyMeter>();

  constructor(meters: Meters, units: Units) {
    this.#meters = meters;
    this.#units = units;
  }

  /** The meters must have sampled all clients of the GPU before. */
  sample(gpu: ServedGpu, sample: Sample): void {
    const bestEffort = gpu.clients.filter((client) => client.class === "best-effort");
    const sharers = bestEffort.map(idOf).join();
    for (const client of gpu.clients) {
      const slot = gpu.region.memory.bestEffort[client.slot];
      if (client.class === "best-effort" && slot) {
        const meter = this.#work.get(client) ?? new WorkMeter(slot);
        this.#work.set(client, meter);
        meter.sample(sample.at, this.#kindOf(gpu, client, sample));
      }
      const metered = sample.high.find(({ id }) => id === this.#units.idOf(gpu, client));
      if (client.class !== "high" || !metered) continue;
      const meter = this.#latencies.get(client) ?? new LatencyMeter();
      this.#latencies.set(client, meter);
      meter.add({
        ...{ at: sample.at, unit: this.#units.of(gpu, client), sharers },
        ...{ durations: metered.ended, concurrent: sample.concurrent },
      });
    }
  }

  work(client: Client): WorkMeasure | undefined {
    return this.#work.get(client)?.measure();
  }

  latencies(client: Client): LatencyMeasure | undefined {
    return this.#latencies.get(client)?.measure();
  }

  #kindOf(gpu: ServedGpu, own: Client, { paused }: Sample): SampleKind {
    const { parkState } = gpu.region.memory.bestEffort[own.slot]?.memory ?? {};
    if (paused === "apart" || parkState !== parkStates.open) return "ignored";
    const isShared = gpu.clients.some((client) => {
      const high = this.#meters.high(gpu, client);
      if (high) return high.past().activeNs > 0 || (high.launched() ?? 1) > 0;
      return client !== own && this.#meters.bestEffort(gpu, client)?.ran() === true;
    });
    const hasWaited = (this.#meters.bestEffort(gpu, own)?.past().heldNs ?? 0) > 0;
    return isShared || hasWaited || paused === "forShare" ? "shared" : "solo";
  }
}
