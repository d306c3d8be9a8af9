// A client that is gone takes its meters with it.
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { Reporters } from "../reporters/reporters.ts";
import { type Slice, SliceRing } from "../steps/slice-ring.ts";
import { StepMeter } from "../steps/step-meter.ts";
import { BestEffortMeter } from "./best-effort-meter.ts";
import { HighMeter } from "./high-meter.ts";
import { RequestMeter } from "./request-meter.ts";

export class Meters {
  readonly #high = new WeakMap<Client, HighMeter>();
  readonly #steps = new WeakMap<Client, StepMeter>();
  readonly #requests = new WeakMap<Client, RequestMeter>();
  readonly #bestEffort = new WeakMap<Client, BestEffortMeter>();
  readonly #slices = new WeakMap<Client, SliceRing>();
  readonly #observers = new WeakMap<Client, OnGpu>();

  readonly #reporters: Pick<Reporters, "of"> | undefined;

  constructor(reporters?: Pick<Reporters, "of">) {
    this.#reporters = reporters;
  }

  sample(gpu: ServedGpu, client: Client, now: number): void {
    this.high(gpu, client)?.sample(now);
    this.ownSteps(gpu, client)?.sample(now);
    this.requests(gpu, client)?.sample(now);
    this.bestEffort(gpu, client)?.sample(now);
    this.#sliceRing(gpu, client)?.sample(now);
  }

  high(gpu: ServedGpu, client: Client): HighMeter | undefined {
    const slot = highSlot(gpu, client);
    return slot && meterIn(this.#high, client, () => new HighMeter(slot));
  }

  /** Another client of its job may be the one that observes its steps. */
  steps(gpu: ServedGpu, client: Client): StepMeter | undefined {
    const observer = this.#observers.get(client) ?? { gpu, client };
    return this.ownSteps(observer.gpu, observer.client);
  }

  /** `observer` undefined: it observes its steps itself. */
  setObserver(client: Client, observer: OnGpu | undefined): void {
    if (observer) this.#observers.set(client, observer);
    else this.#observers.delete(client);
  }

  ownSteps(gpu: ServedGpu, client: Client): StepMeter | undefined {
    const slot = highSlot(gpu, client);
    return slot && meterIn(this.#steps, client, () => new StepMeter(slot));
  }

  requests(gpu: ServedGpu, client: Client): RequestMeter | undefined {
    const slot = highSlot(gpu, client);
    const reports = () => this.reportersOf(client).map(({ counters }) => counters);
    return slot && meterIn(this.#requests, client, () => new RequestMeter(slot, reports));
  }

  reportersOf(client: Client): ReturnType<Reporters["of"]> {
    return this.#reporters?.of(client) ?? [];
  }

  slices(gpu: ServedGpu): readonly Slice[] {
    return gpu.clients.flatMap((client) => this.#sliceRing(gpu, client)?.latest ?? []);
  }

  #sliceRing(gpu: ServedGpu, client: Client): SliceRing | undefined {
    const slot = bestEffortSlot(gpu, client);
    return slot && meterIn(this.#slices, client, () => new SliceRing(slot));
  }

  bestEffort(gpu: ServedGpu, client: Client): BestEffortMeter | undefined {
    const slot = bestEffortSlot(gpu, client);
    return slot && meterIn(this.#bestEffort, client, () => new BestEffortMeter(slot));
  }
}

export interface OnGpu {
  readonly gpu: ServedGpu;
  readonly client: Client;
}

const highSlot = (gpu: ServedGpu, client: Client) =>
  client.class === "high" ? gpu.region.memory.high[client.slot] : undefined;

const bestEffortSlot = (gpu: ServedGpu, client: Client) =>
  client.class === "best-effort" ? gpu.region.memory.bestEffort[client.slot] : undefined;

function meterIn<M>(meters: WeakMap<Client, M>, client: Client, make: () => M): M {
  const meter = meters.get(client) ?? make();
  meters.set(client, meter);
  return meter;
}
