// Power and the SM clock. Power grows with the load of the SMs and DRAM, and with the clock. If it would exceed the
// limit at the highest clock, the clock falls slowly until it does not.
import type { PowerModel } from "../model/presets.ts";

/**
 * The clock at which a steady load settles. `compute` and `dram` are parts of their peaks; `scale` multiplies the watts
 * of the preset.
 */
export function steadyMHz(
  { maxMHz, minMHz, idleW, limitW, fullW, dramPart, exponent }: PowerModel,
  compute: number,
  dram: number,
  scale = 1,
): number {
  const wanted = scale * fullW * (compute + dramPart * dram);
  if (wanted <= limitW - idleW) return maxMHz;
  return Math.max(minMHz, maxMHz * ((limitW - idleW) / wanted) ** (1 / exponent));
}

export class SmClock {
  readonly model: PowerModel;
  mhz: number;
  watts: number;
  /** Sums over all ticks. */
  readonly sums = { ticks: 0, mhz: 0, watts: 0 };
  /** The load, averaged over the recent past. */
  #compute = 0;
  #dram = 0;

  constructor(model: PowerModel) {
    this.model = model;
    this.mhz = model.maxMHz;
    this.watts = model.idleW;
  }

  /** `compute` and `dram` are means over the `passedNs` since the last tick. */
  tick(compute: number, dram: number, passedNs: number): void {
    const { timeConstantNs, idleW, fullW, dramPart, maxMHz, exponent } = this.model;
    const weight = 1 - Math.exp(-passedNs / timeConstantNs);
    this.#compute += weight * (compute - this.#compute);
    this.#dram += weight * (dram - this.#dram);
    this.mhz = steadyMHz(this.model, this.#compute, this.#dram);
    const load = this.#compute + dramPart * this.#dram;
    this.watts = idleW + fullW * load * (this.mhz / maxMHz) ** exponent;
    this.sums.ticks++;
    this.sums.mhz += this.mhz;
    this.sums.watts += this.watts;
  }
}
