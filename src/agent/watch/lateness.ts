import type { Memory, MeteredHigh } from "#policy";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { Units } from "../meters/units.ts";
import { aloneIn } from "./client-facts.ts";
import { SlowdownEvidence } from "./slowdown-evidence.ts";

interface Sample {
  readonly at: number; // monotonic ns
  readonly high: readonly MeteredHigh[];
  readonly memory: Memory | undefined;
  readonly concurrent: boolean | undefined; // undefined: contradictory observations
}

export class Lateness {
  readonly #units: Units;
  readonly #evidence = new WeakMap<Client, SlowdownEvidence>();
  #byGpu: ReadonlyMap<string, number> = new Map();

  constructor(units: Units) {
    this.#units = units;
  }

  /** A GPU that is not sampled has no reading any more. */
  update(gpus: readonly ServedGpu[], sampleOf: (gpu: ServedGpu) => Sample): void {
    this.#byGpu = new Map(
      gpus.flatMap((gpu) => {
        const worst = this.#on(gpu, sampleOf(gpu));
        return worst === undefined ? [] : [[gpu.uuid, worst] as const];
      }),
    );
  }

  of(uuid: string): number | undefined {
    return this.#byGpu.get(uuid);
  }

  #on(gpu: ServedGpu, { at, high, memory, concurrent }: Sample): number | undefined {
    const slowdowns = gpu.clients.flatMap((client) => {
      const metered = high.find(({ id }) => id === this.#units.idOf(gpu, client));
      if (client.class !== "high" || !metered) return [];
      const evidence = this.#evidence.get(client) ?? new SlowdownEvidence();
      this.#evidence.set(client, evidence);
      const unit = this.#units.of(gpu, client);
      const { ended: durations, waited: waits = durations } = metered;
      evidence.add({ at, unit, durations, waits, concurrent });
      const reference = aloneIn(memory, this.#units.referenceIdOf(gpu, client));
      return evidence.slowdown(at, reference) ?? [];
    });
    return slowdowns.length > 0 ? Math.max(...slowdowns) : undefined;
  }
}
