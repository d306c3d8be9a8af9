// Retained throughput is the work of a best-effort client with others, divided by its work solo
// (decision 0043).
import type { BestEffortSlot, View } from "#protocol";

export interface WorkTotals {
  readonly seconds: number;
  readonly submissions: number;
  readonly kernelSeconds: number;
}

export interface WorkMeasure {
  /** It sums samples since the client attached in which no other client worked on the GPU. */
  readonly solo: WorkTotals;
  readonly shared: WorkTotals;
  readonly soloPerS: number | undefined;
  /** It is above 1 where kernels run side by side. */
  readonly soloBusy: number | undefined;
}

/** `ignored`: something that has nothing to do with sharing keeps the client from working. */
export type SampleKind = "solo" | "shared" | "ignored";
export const MIN_SOLO_SECONDS = 10;
const SOLO_PERIOD_SECONDS = 300;
/** The first seconds of work choose algorithms and fill caches. */
export const WARM_UP_SECONDS = 10;
/** A client without work for longer starts, writes a checkpoint or evaluates on the CPU. */
export const MAX_IDLE_SECONDS = 5;
/** No process submits as much in a second: another one has overwritten the counter. */
const MAX_SUBMISSIONS_PER_S = 20e6;
const MAX_CONCURRENT = 16;

interface Counters {
  readonly at: number;
  readonly submissions: number;
  readonly finishedNs: number;
  readonly heldNs: number;
}

interface Sums {
  seconds: number;
  submissions: number;
  kernelSeconds: number;
}

const none = (): Sums => ({ seconds: 0, submissions: 0, kernelSeconds: 0 });

export class WorkMeter {
  readonly #slot: View<typeof BestEffortSlot>;
  readonly #totals = { solo: none(), shared: none() };
  #recent = none();
  #former = none();
  #last: Counters | undefined;
  #workedSeconds = 0;
  /** Seconds without work count only if there is work again soon. */
  #idle = { solo: 0, shared: 0 };

  constructor(slot: View<typeof BestEffortSlot>) {
    this.#slot = slot;
  }

  sample(now: number, kind: SampleKind): void {
    const { launches, graphs, finishedNs, heldNs, releasedNs, waiting } = this.#slot;
    const last = this.#last;
    this.#last = { at: now, submissions: launches + graphs, finishedNs, heldNs };
    if (last === undefined) return;
    const seconds = (now - last.at) / 1e9;
    const submissions = this.#last.submissions - last.submissions;
    const kernelSeconds = (finishedNs - last.finishedNs) / 1e9;
    const isPlausible =
      seconds > 0 && submissions >= 0 && submissions <= MAX_SUBMISSIONS_PER_S * seconds;
    if (!isPlausible) return;
    const hasWork = submissions > 0 || kernelSeconds !== 0 || releasedNs > 0 || waiting !== 0;
    if (!hasWork && heldNs === last.heldNs) {
      if (kind !== "ignored") this.#idle[kind] += seconds;
      return;
    }
    this.#workedSeconds += seconds;
    const idle = this.#takeIdle();
    if (this.#workedSeconds < WARM_UP_SECONDS) return;
    this.#add("solo", { ...none(), seconds: idle.solo });
    this.#add("shared", { ...none(), seconds: idle.shared });
    if (kind === "ignored") return;
    const most = MAX_CONCURRENT * seconds;
    const finished = Math.min(most, Math.max(0, kernelSeconds));
    this.#add(kind, { seconds, submissions, kernelSeconds: finished });
  }

  #takeIdle(): { readonly solo: number; readonly shared: number } {
    const idle = this.#idle;
    this.#idle = { solo: 0, shared: 0 };
    return idle.solo + idle.shared <= MAX_IDLE_SECONDS ? idle : this.#idle;
  }

  #add(kind: "solo" | "shared", more: WorkTotals): void {
    addTo(this.#totals[kind], more);
    if (kind === "shared") return;
    if (this.#recent.seconds >= SOLO_PERIOD_SECONDS)
      [this.#former, this.#recent] = [this.#recent, none()];
    addTo(this.#recent, more);
  }

  measure(): WorkMeasure {
    const seconds = this.#recent.seconds + this.#former.seconds;
    const submissions = this.#recent.submissions + this.#former.submissions;
    const kernelSeconds = this.#recent.kernelSeconds + this.#former.kernelSeconds;
    const isKnown = seconds >= MIN_SOLO_SECONDS && submissions > 0;
    return {
      solo: { ...this.#totals.solo },
      shared: { ...this.#totals.shared },
      soloPerS: isKnown ? submissions / seconds : undefined,
      soloBusy: isKnown ? kernelSeconds / seconds : undefined,
    };
  }
}

function addTo(sums: Sums, { seconds, submissions, kernelSeconds }: WorkTotals): void {
  sums.seconds += seconds;
  sums.submissions += submissions;
  sums.kernelSeconds += kernelSeconds;
}
