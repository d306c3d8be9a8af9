// The agent's loop on the modelled GPU: four times a second of virtual time, what was seen goes to the policy
// and its rules into the gate.
import { type Observed, type Overrides, type Policy, withOverrides } from "#policy";
import type { Gate } from "./gate.ts";
import type { HighClient } from "./high.ts";
import type { Actor, Machine } from "./machine.ts";

const EVERY_NS = 250e6;
/** Bursts count for so long, as in the agent's meter. */
const WINDOW_NS = 4e9;

export class Policing implements Actor {
  readonly #machine: Machine;
  readonly #gate: Gate;
  readonly #policy: Policy;
  readonly #overrides: Overrides;
  readonly #high: HighClient | undefined;
  readonly #actor: number;
  #from = 0;
  #before: number | undefined;

  constructor(
    machine: Machine,
    gate: Gate,
    { policy, overrides }: { readonly policy: Policy; readonly overrides: Overrides },
    high: HighClient | undefined,
  ) {
    this.#machine = machine;
    this.#gate = gate;
    this.#policy = policy;
    this.#overrides = overrides;
    this.#high = high;
    this.#actor = machine.addActor(this);
  }

  /** `before`: what a burst took until now, so that the rules begin where they would have come to. */
  start(before: number | undefined): void {
    this.#before = before;
    this.wake();
  }

  wake(): void {
    const { now } = this.#machine;
    const bursts = this.#high?.bursts ?? [];
    while ((bursts[this.#from]?.endNs ?? now) < now - WINDOW_NS) this.#from++;
    const lasted = Float64Array.from(bursts.slice(this.#from), ({ lastedNs }) => lastedNs).sort();
    const middle = lasted[lasted.length >> 1] ?? (this.#from === 0 ? this.#before : undefined);
    const burstP50Us = middle === undefined ? undefined : middle / 1000;
    const observed: Observed = {
      isolated: this.#machine.contexts.exclusive,
      high: this.#high ? [{ name: "high", burstP50Us }] : [],
    };
    this.#gate.setRules(withOverrides(this.#policy.rules(observed), this.#overrides));
    this.#machine.at(now + EVERY_NS, this.#actor, 0);
  }
}
