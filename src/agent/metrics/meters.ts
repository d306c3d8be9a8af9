// The meter of each client, made when it is first asked for. A client that is gone takes its meter with it.
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import { BestEffortMeter } from "./best-effort-meter.ts";
import { HighMeter } from "./high-meter.ts";

export class Meters {
  readonly #high = new WeakMap<Client, HighMeter>();
  readonly #bestEffort = new WeakMap<Client, BestEffortMeter>();

  /** undefined for a client of the other class. */
  high(gpu: ServedGpu, client: Client): HighMeter | undefined {
    const slot = client.class === "high" ? gpu.region.memory.high[client.slot] : undefined;
    return slot && meterIn(this.#high, client, () => new HighMeter(slot));
  }

  /** undefined for a client of the other class. */
  bestEffort(gpu: ServedGpu, client: Client): BestEffortMeter | undefined {
    const slot =
      client.class === "best-effort" ? gpu.region.memory.bestEffort[client.slot] : undefined;
    return slot && meterIn(this.#bestEffort, client, () => new BestEffortMeter(slot));
  }
}

function meterIn<M>(meters: WeakMap<Client, M>, client: Client, make: () => M): M {
  const meter = meters.get(client) ?? make();
  meters.set(client, meter);
  return meter;
}
