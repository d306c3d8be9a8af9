// What a high client is judged by: its steps, where its bursts make any (src/agent/steps), otherwise its bursts.
import type { MeteredHigh } from "#policy";
import type { Client, ServedGpu } from "../gpus/gpu.ts";
import type { HighMeter } from "../metrics/high-meter.ts";
import type { Meters } from "../metrics/meters.ts";
import type { StepMeter } from "./step-meter.ts";

export type Unit = "step" | "burst";

type Seen = Pick<
  MeteredHigh,
  "burstP50Us" | "burstByTimeUs" | "burstLaunches" | "ended" | "waited" | "inSteps"
>;

/** Of the time in bursts, that in bursts which launch at least as much as a usual one. */
const USUALLY = 0.9;

export class Units {
  readonly #meters: Meters;

  constructor(meters: Meters) {
    this.#meters = meters;
  }

  /**
   * An objective for the p99 of bursts is about bursts in any case: a step also takes the time between its bursts. A training
   * is judged by its throughput.
   */
  of(gpu: ServedGpu, client: Client): Unit {
    const inSteps = this.#meters.steps(gpu, client)?.has === true;
    return inSteps && !client.training && client.sloP99Us === 0 ? "step" : "burst";
  }

  /** By which the policy remembers a client: what it knows of its bursts says nothing about its steps. */
  idOf(gpu: ServedGpu, client: Client): string {
    return this.of(gpu, client) === "step" ? `${idOf(client)} step` : idOf(client);
  }

  /** For the policy. */
  seen(gpu: ServedGpu, client: Client): Seen | undefined {
    const meter = this.#meters.high(gpu, client);
    if (!meter) return undefined;
    const steps = this.#meters.steps(gpu, client);
    const seen = this.of(gpu, client) === "burst" ? burstsSeen(meter) : stepsSeen(steps);
    return { ...seen, burstLaunches: steps?.launchesByTime(USUALLY) };
  }

  /** The p99 of the time for which they waited for the GPU, over the last window. */
  waitP99Us(gpu: ServedGpu, client: Client): number | undefined {
    return this.of(gpu, client) === "burst"
      ? this.#meters.high(gpu, client)?.measure().burstWaitP99Us
      : this.#meters.steps(gpu, client)?.measure()?.stepWaitP99Us;
  }
}

/** A process that took another's slot, or its pid, is somebody else. */
export const idOf = ({ slot, pid, startTime }: Client): string => `${slot} ${pid} ${startTime}`;

const burstsSeen = (meter: HighMeter): Seen => ({
  burstP50Us: meter.burstP50Us(),
  burstByTimeUs: meter.burstByTimeUs(),
  ended: meter.ended(),
  waited: meter.waited(),
});

function stepsSeen(meter: StepMeter | undefined): Seen {
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
