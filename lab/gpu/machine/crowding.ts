// How long a block takes if fewer blocks of its kernel run than the GPU could hold. The blocks on an SM share the SM,
// and all SMs share DRAM. So fewer blocks are faster, in proportion to how near the kernel is to that limit. The time
// of a block that is near no limit does not change.

import type { Plan } from "../model/plan.ts";
import { COMPUTE, DRAM, L2, RESOURCES } from "./contention.ts";

export class Crowding {
  readonly #sms: number;
  readonly #reachable: number;
  readonly #oversupply: number;
  readonly #all: number;
  #bend = 1;

  /**
   * `reachable`: the part of DRAM's peak that can be reached. `oversupply`: what all SMs together would draw if each
   * drew as much as one alone, divided by what can be reached.
   */
  constructor(sms: number, reachable: number, oversupply: number) {
    this.#sms = sms;
    this.#reachable = reachable;
    this.#oversupply = oversupply;
    // `bend` is chosen so that one SM alone draws its part of the oversupply.
    for (let i = 0; i < 20; i++) this.#bend = bent(oversupply * this.#bend);
    this.#all = bent(oversupply * this.#bend);
  }

  /** The DRAM traffic of this many SMs, divided by that of all SMs. */
  drawn(sms: number): number {
    return bent((this.#oversupply * this.#bend * sms) / this.#sms) / this.#all;
  }

  /**
   * The time of a block of `step` when `units` of them run on at most `limit` SMs, divided by its time when all SMs are
   * full of such blocks.
   */
  time(plan: Plan, step: number, units: number, limit: number): number {
    const at = step * RESOURCES;
    const peak = plan.need[at + DRAM] as number;
    const dram = peak / this.#reachable;
    const l2 = plan.need[at + L2] as number;
    const compute = plan.need[at + COMPUTE] as number;
    // The part of the memory load beyond DRAM, which is in the SM or beside it.
    const local = l2 > peak ? Math.max(compute, l2) : compute;
    if (dram > local) {
      const sms = Math.min(this.#sms, units);
      return 1 - Math.min(1, dram) * (1 - sms / this.#sms / this.drawn(sms));
    }
    const perSm = plan.perSm[step] as number;
    const each = units / Math.min(limit, units * perSm);
    return 1 - Math.min(1, local) * (1 - each);
  }

  /**
   * The mean time of the waves when `units` run on `sms` SMs, divided by the time of the first wave. It is below 1 if
   * the last wave is not full, because that one is faster.
   */
  mean(plan: Plan, step: number, units: number, sms: number, limit: number): number {
    const last = units % sms;
    if (units <= sms || last === 0) return 1;
    const waves = Math.ceil(units / sms);
    return (
      (waves - 1 + this.time(plan, step, last, limit) / this.time(plan, step, sms, limit)) / waves
    );
  }
}

/**
 * A curve that bends where DRAM becomes the limit. With the cube it is within 6 % of measurements on an H200 from 1 to
 * 132 SMs.
 */
const bent = (x: number): number => 1 / Math.cbrt(1 + 1 / (x * x * x));
