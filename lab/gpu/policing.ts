// The agent's loop on the modelled GPU. Four times a second of virtual time, it gives the policy what was observed, and
// gives the gate the policy's rules.
import { medianBySum, millis } from "#core";
import {
  type GpuUse,
  type MeteredHigh,
  type Objective,
  type Overrides,
  type Policy,
  PolicyLoop,
} from "#policy";
import { bucketCount, bucketOf } from "#protocol";
import type { HighClient } from "./clients/high.ts";
import type { Gate } from "./gate/gate.ts";
import type { Actor, Machine } from "./machine/machine.ts";
import type { Stream } from "./machine/stream.ts";
import type { Plan } from "./model/plan.ts";

const EVERY_NS = 250e6;
/** The time for which bursts count, as in the agent's meter. */
const WINDOW_NS = 4e9;

/** The high client, and what its profile and the command line say about it. */
interface PolicedHigh {
  readonly client: HighClient;
  readonly plan: Plan;
  readonly training: boolean;
  readonly objective: Objective | undefined;
}

interface Policed {
  readonly policy: Policy;
  readonly overrides: Overrides;
  readonly high: PolicedHigh | undefined;
  /** The streams of best-effort work. */
  readonly colocated: readonly Stream[];
}

export class Policing implements Actor {
  readonly #machine: Machine;
  readonly #gate: Gate;
  readonly #policed: Policed;
  readonly #actor: number;
  readonly #fromProfile: Pick<MeteredHigh, "soloUs" | "gpuShare" | "training">;
  readonly #loop: PolicyLoop;
  #from = 0;
  /** This and the next two count up to the last poll. */
  #burstsSeen = 0;
  #launched = 0;
  #finished = 0;
  #heldNs = 0;

  constructor(machine: Machine, gate: Gate, policed: Policed) {
    this.#machine = machine;
    this.#gate = gate;
    this.#policed = policed;
    this.#loop = new PolicyLoop(policed.policy, policed.overrides);
    this.#fromProfile = policed.high ? fromProfile(policed.high) : {};
    this.#actor = machine.addActor(this);
  }

  /** The level of a policy that learns. */
  get level(): number | undefined {
    return this.#loop.memory?.level;
  }

  start(): void {
    this.wake();
  }

  wake(): void {
    const { now, contexts, gpu } = this.#machine;
    const seen = {
      isolated: contexts.exclusive,
      high: this.#seenHigh(),
      smCount: gpu.description.sms,
    };
    if (now > 0)
      this.#loop.remember(() => ({
        ...seen,
        nowMs: millis(now / 1e6),
        gpu: this.#gpuUse(),
        colocated: this.#wasColocated(),
      }));
    this.#gate.setRules(this.#loop.rules(seen));
    this.#machine.at(now + EVERY_NS, this.#actor, 0);
  }

  /** Without a model of its power, a GPU's clock is always the highest. */
  #gpuUse(): GpuUse {
    const { processors, clock, now } = this.#machine;
    processors.settle(now);
    const smActivity = Math.min(1, (processors.heldNs - this.#heldNs) / EVERY_NS);
    this.#heldNs = processors.heldNs;
    const mostSmClockMHz = clock?.model.maxMHz ?? 1;
    return { smActivity, smClockMHz: clock?.mhz ?? mostSmClockMHz, mostSmClockMHz };
  }

  #seenHigh(): readonly MeteredHigh[] {
    const { high } = this.#policed;
    if (!high) return [];
    const { objective, client } = high;
    const launches = client.stream.launched - this.#launched;
    this.#launched = client.stream.launched;
    return [
      {
        id: "high",
        name: "high",
        objective,
        ...this.#bursts(client),
        usualBurst: client.usualBurst,
        ...this.#endedBursts(client),
        launches,
        ...this.#fromProfile,
      },
    ];
  }

  /** Before the first burst both are the profile's time alone, so that the rules begin close to where they will settle. */
  #bursts({ bursts }: HighClient): Pick<MeteredHigh, "burstP50Us" | "burstByTimeUs"> {
    const { now } = this.#machine;
    while ((bursts[this.#from]?.endNs ?? now) < now - WINDOW_NS) this.#from++;
    const lasted = Float64Array.from(bursts.slice(this.#from), ({ lastedNs }) => lastedNs).sort();
    const middle = lasted[lasted.length >> 1];
    return middle === undefined
      ? { burstP50Us: this.#before() }
      : { burstP50Us: middle / 1000, burstByTimeUs: medianBySum(lasted) / 1000 };
  }

  #before(): number | undefined {
    return this.#from === 0 ? this.#fromProfile.soloUs : undefined;
  }

  #endedBursts({ bursts }: HighClient): Pick<MeteredHigh, "ended" | "waited"> {
    if (bursts.length === this.#burstsSeen) return { ended: undefined };
    const fresh = bursts.slice(this.#burstsSeen);
    this.#burstsSeen = bursts.length;
    return {
      ended: histogramOf(fresh.map(({ lastedNs }) => lastedNs)),
      waited: histogramOf(fresh.map(({ waitedNs }) => waitedNs)),
    };
  }

  #wasColocated(): boolean {
    const finished = this.#policed.colocated.reduce((sum, stream) => sum + stream.finished, 0);
    const ran = finished > this.#finished;
    this.#finished = finished;
    return ran;
  }
}

function histogramOf(timesNs: readonly number[]): Uint32Array {
  const counts = new Uint32Array(bucketCount);
  for (const ns of timesNs) {
    const bucket = bucketOf(ns);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return counts;
}

function fromProfile({ plan, training }: PolicedHigh) {
  const kernelsNs = plan.durationNs.reduce((sum, ns) => sum + ns, 0);
  return { soloUs: plan.soloNs / 1000, gpuShare: Math.min(1, kernelsNs / plan.soloNs), training };
}
