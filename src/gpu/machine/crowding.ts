// How long a block takes if fewer blocks of its kernel run than the GPU could hold. The blocks on an SM share the SM,
// and all SMs share DRAM. So fewer blocks are faster, in proportion to how near the kernel is to that limit. The time
// of a block that is near no limit does not change.

import type { Plan } from "../plan.ts";
import { COMPUTE, DRAM, L2, RESOURCES } from "./contention.ts";

export class Crowding {
  readonly #sms: number;
  readonly #reachable: number;
  readonly #oversupply: number;
  readonly #all: number;
  #bend = 1;

  /**
   * `reachable`: of DRAM's peak. `oversupply`: what all SMs would draw if each drew what one does that is alone, of
   * what can be reached.
   */
  constructor(sms: number, reachable: number, oversupply: number) {
    this.#sms = sms;
    this.#reachable = reachable;
    this.#oversupply = oversupply;
    // One SM by itself draws its part of the oversupply; all draw what can be reached.
    for (let i = 0; i < 20; i++) this.#bend = bent(oversupply * this.#bend);
    this.#all = bent(oversupply * this.#bend);
  }

  /** What so many SMs draw from DRAM, of what all draw. */
  drawn(sms: number): number {
    return bent((this.#oversupply * this.#bend * sms) / this.#sms) / this.#all;
  }

  /**
   * The time of a block of step `step` where `units` of them run on at most `limit` SMs, of its time where all SMs
   * are full of its kind.
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
}

/** Bends where DRAM becomes the limit; the cube keeps within 6 % of what was measured on an H200 from 1 to 132 SMs. */
const bent = (x: number): number => 1 / Math.cbrt(1 + 1 / (x * x * x));
