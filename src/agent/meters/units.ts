// A high client is judged by its steps where its bursts make any, otherwise by its bursts.
import { type EngineStep, isAboutRequestsOnly, type MeteredHigh } from "#policy";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import { type Slice, slicesBetween } from "../steps/slice-ring.ts";
import type { StepMeter } from "../steps/step-meter.ts";
import type { HighMeter } from "./high-meter.ts";
import type { Meters } from "./meters.ts";

export type Unit = "step" | "burst";

type UnitSample = Pick<
  MeteredHigh,
  | "burstP50Us"
  | "burstByTimeUs"
  | "usualBurst"
  | "rareBursts"
  | "ended"
  | "waited"
  | "inSteps"
  | "steps"
>;

interface Latest extends Pick<UnitSample, "burstP50Us" | "burstByTimeUs"> {
  readonly unit: Unit;
  readonly at: number;
}

const KNOWN_NS = 60e9;

export class Units {
  readonly #meters: Meters;
  readonly #latest = new WeakMap<Client, Latest>();
  readonly #madeSteps = new WeakSet<Client>();

  constructor(meters: Meters) {
    this.#meters = meters;
  }

  /**
   * An objective for the p99 of bursts is about bursts in any case: a step also takes the time
   * between its bursts. A training is judged by its throughput.
   */
  of(gpu: ServedGpu, client: Client): Unit {
    const inSteps = this.#meters.steps(gpu, client)?.has === true;
    return inSteps && !client.training && client.objective?.p99Us === undefined ? "step" : "burst";
  }

  /** Statistics of bursts and of steps are kept apart; those of requests hold for both. */
  idOf(gpu: ServedGpu, client: Client): string {
    return !isAboutRequestsOnly(client) && this.of(gpu, client) === "step"
      ? `${idOf(client)} step`
      : idOf(client);
  }

  referenceIdOf(gpu: ServedGpu, client: Client): string | undefined {
    if (!isAboutRequestsOnly(client)) return this.idOf(gpu, client);
    if (this.of(gpu, client) === "step") this.#madeSteps.add(client);
    return this.#madeSteps.has(client) ? undefined : this.idOf(gpu, client);
  }

  /** If nothing ended in the window, the durations of the last minute hold. `now`: monotonic ns. */
  seen(gpu: ServedGpu, client: Client, now: number): UnitSample | undefined {
    const meter = this.#meters.high(gpu, client);
    if (!meter) return undefined;
    const unit = this.of(gpu, client);
    const steps = this.#meters.steps(gpu, client);
    const seen = unit === "burst" ? burstsSeen(meter) : stepsSeen(steps);
    const { burstP50Us, burstByTimeUs } = seen;
    const before = this.#latest.get(client);
    const latest = burstP50Us === undefined ? before : { unit, burstP50Us, burstByTimeUs, at: now };
    if (latest) this.#latest.set(client, latest);
    const counts = latest?.unit === unit && now - latest.at <= KNOWN_NS;
    const known = counts ? latest : undefined;
    return {
      ...seen,
      burstP50Us: known?.burstP50Us,
      burstByTimeUs: known?.burstByTimeUs,
      usualBurst: steps?.usualBurst,
      rareBursts: steps?.rareBursts,
      steps:
        steps && client.objective?.requests
          ? engineSteps(steps, this.#meters.slices(gpu))
          : undefined,
    };
  }

  waitP99Us(gpu: ServedGpu, client: Client): number | undefined {
    return this.of(gpu, client) === "burst"
      ? this.#meters.high(gpu, client)?.measure().burstWaitP99Us
      : this.#meters.steps(gpu, client)?.measure()?.stepWaitP99Us;
  }
}

function engineSteps(meter: StepMeter, slices: readonly Slice[]): readonly EngineStep[] {
  const prefillFrom = meter.rareBursts?.afterLaunches ?? Number.POSITIVE_INFINITY;
  return meter.ofSegments.map(({ begin, end, launches }) => ({
    endMs: end / 1e6,
    us: (end - begin) / 1e3,
    slices: slicesBetween(slices, begin, end),
    prefill: launches >= prefillFrom,
  }));
}

/** A process that took another's slot, or its pid, is another client. */
export const idOf = ({ slot, pid, startTime }: Client): string => `${slot} ${pid} ${startTime}`;

const burstsSeen = (meter: HighMeter): UnitSample => ({
  burstP50Us: meter.burstP50Us(),
  burstByTimeUs: meter.burstByTimeUs(),
  ended: meter.ended(),
  waited: meter.waited(),
});

function stepsSeen(meter: StepMeter | undefined): UnitSample {
  const ended = meter?.ended();
  const stepP50Us = meter?.measure()?.stepP50Us;
  return {
    inSteps: true,
    burstP50Us: stepP50Us,
    burstByTimeUs: stepP50Us,
    ended: ended?.durations,
    waited: ended?.waits,
  };
}
