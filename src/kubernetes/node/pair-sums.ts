// Retained throughput is by the job's work where its solo rate is known (decision 0043).
import type { BestEffortStatus, GpuStatus, HighStatus } from "#agent";
import type { PairFigures, ServiceTimes } from "../labels/pair.ts";

/** Work of fewer seconds says little. */
const MIN_WORK_SECONDS = 20;
/** A gap between two samples counts as this at most. */
const MAX_GAP_MS = 5000;

export interface PairSample {
  /** 1 - the part of the last window in which work waited. */
  readonly waits: number;
  readonly load: number;
  readonly work: BestEffortStatus["work"];
  readonly pid: number;
  readonly service: ServiceTimes | undefined;
}

export class PairSums {
  #samples = 0;
  #seconds = 0;
  #waits = 0;
  #load = 0;
  #workSeconds = 0;
  #submissions = 0;
  #last: PairSample | undefined;
  #lastAt: number | undefined;

  /** `now` is in ms. */
  add(sample: PairSample, now: number): void {
    const last = this.#last;
    this.#samples++;
    this.#seconds += Math.min(MAX_GAP_MS, now - (this.#lastAt ?? now)) / 1000;
    this.#waits += sample.waits;
    this.#load += sample.load;
    if (last?.work && last.pid === sample.pid && sample.work) {
      const { seconds, submissions } = sumOf(sample.work);
      const before = sumOf(last.work);
      // Counters of an agent that was restarted begin again.
      if (seconds >= before.seconds && submissions >= before.submissions) {
        this.#workSeconds += seconds - before.seconds;
        this.#submissions += submissions - before.submissions;
      }
    }
    this.#last = sample;
    this.#lastAt = now;
  }

  get count(): number {
    return this.#samples;
  }

  /** Without samples, all are NaN. */
  figures(): PairFigures {
    const { work, service } = this.#last ?? {};
    const perS = this.#submissions / this.#workSeconds;
    const { soloPerS, soloBusy } = work ?? {};
    const isKnown = soloPerS !== undefined && this.#workSeconds >= MIN_WORK_SECONDS;
    return {
      // No job runs faster beside others than alone: what is above 1 is noise.
      retained: rounded(Math.min(1, isKnown ? perS / soloPerS : this.#waits / this.#samples)),
      by: isKnown ? "work" : "waits",
      seconds: Math.round(isKnown ? this.#workSeconds : this.#seconds),
      load: rounded(this.#load / this.#samples),
      ...(this.#workSeconds > 0 && { perS: rounded(perS) }),
      ...(soloPerS !== undefined && { soloPerS: rounded(soloPerS) }),
      ...(soloBusy !== undefined && { soloBusy: rounded(soloBusy) }),
      ...(service && { service }),
    };
  }
}

export function sampleOf(own: BestEffortStatus, { high }: GpuStatus, waits: number): PairSample {
  const load = high.reduce((sum, { activeShare = 0 }) => sum + activeShare, 0);
  return {
    ...{ waits, load: Math.min(1, load), work: own.work, pid: own.pid },
    service: slowestOf(high),
  };
}

function slowestOf(high: readonly HighStatus[]): ServiceTimes | undefined {
  const known = high.flatMap(({ latencies }) => latencies ?? []);
  const growth = ({ shared, solo }: (typeof known)[number]) => shared.p99Us / solo.p99Us;
  const [slowest] = known.sort((one, other) => growth(other) - growth(one));
  if (slowest === undefined) return undefined;
  const { unit, perS, shared, solo } = slowest;
  return {
    ...{ unit, perS: rounded(perS) },
    ...{ p50Us: rounded(shared.p50Us), p99Us: rounded(shared.p99Us) },
    ...{ soloP50Us: rounded(solo.p50Us), soloP99Us: rounded(solo.p99Us) },
  };
}

const sumOf = ({ solo, shared }: NonNullable<BestEffortStatus["work"]>) => ({
  seconds: solo.seconds + shared.seconds,
  submissions: solo.submissions + shared.submissions,
});

export const rounded = (n: number): number => Math.round(n * 1000) / 1000;
