import type { BestEffortSlot, View } from "#protocol";
import { part, push, share, span, within } from "../histograms/window.ts";
import { type MovableMemory, movableMemory } from "../memory/movable.ts";
import { printable } from "../system/index.ts";
import { kernelTitle } from "./kernel-title.ts";

/** Kernels of one client that run side by side for long; a counter with more was overwritten. */
const MAX_CONCURRENT = 16;
const losses = ["heldNs", "cappedNs", "turnNs", "emptyNs"] as const;

interface GangMeasure {
  readonly ranks: number;
  /** Collectives, sends, receives and groups. */
  readonly commits: number;
  /** The part of them whose wait for other ranks timed out. */
  readonly timeouts: number;
  /** The part of them that a pause held up for as long as minimum progress allows. */
  readonly progress: number;
}

export interface BestEffortMeasure {
  readonly launches: number;
  readonly graphs: number;
  readonly copies: number;
  readonly chunks: number;
  readonly trickles: number;
  readonly longKernels: number;
  readonly longestKernelUs: number;
  readonly longestKernel: string | undefined;
  readonly unknownLaunches: number;
  readonly preemptible: { readonly variants: number; readonly launches: number };
  readonly graphGates: { readonly places: number; readonly wholeGraphs: number };
  readonly splitProducts: number;
  /** Its committed collectives; undefined: it is no rank of a gang. */
  readonly gang: GangMeasure | undefined;
  readonly unhooked: number;
  readonly caveats: number;
  readonly memoryUsed: number;
  readonly memoryQuota: number;
  readonly memoryRefusals: number;
  readonly memory: MovableMemory | undefined;
  readonly aheadUs: number;
  readonly submittedSeconds: number; // counts the expected GPU time of all launches
  /** All submitted time counts as finished while nothing holds the client. */
  readonly finishedSeconds: number;
  readonly heldSeconds: number;
  readonly cappedSeconds: number;
  readonly turnSeconds: number;
  readonly emptySeconds: number;
  readonly gpuShare: number;
  readonly heldShare: number;
  readonly cappedShare: number;
  readonly turnShare: number;
  readonly emptyShare: number;
  /** In this part of the window its work waited neither for high clients nor for another's turn. */
  readonly keptShare: number | undefined;
}

type BestEffortSnapshot = Readonly<Record<(typeof losses)[number] | "at" | "finishedNs", number>>;

export class BestEffortMeter {
  readonly #slot: View<typeof BestEffortSlot>;
  readonly #ring: BestEffortSnapshot[] = [];

  constructor(slot: View<typeof BestEffortSlot>) {
    this.#slot = slot;
  }

  sample(now: number): void {
    const { finishedNs, heldNs, cappedNs, turnNs, emptyNs } = this.#slot;
    push(this.#ring, { at: now, finishedNs, heldNs, cappedNs, turnNs, emptyNs });
  }

  ran(): boolean {
    const [from, to] = this.#ring.slice(-2);
    return this.#slot.releasedNs > 0 || (to?.finishedNs ?? 0) !== (from?.finishedNs ?? 0);
  }

  /** Both are in ns, of the time between the last two samples. */
  past(): { readonly finishedNs: number; readonly heldNs: number } {
    const [from, to] = this.#ring.slice(-2);
    if (!from || !to) return { finishedNs: 0, heldNs: 0 };
    const span = to.at - from.at;
    return {
      finishedNs: within(to.finishedNs - from.finishedNs, span),
      heldNs: within(to.heldNs - from.heldNs, span),
    };
  }

  measure(): BestEffortMeasure {
    const slot = this.#slot;
    const { from, to, seconds } = span(this.#ring);
    const partLost = (of: (typeof losses)[number]) =>
      from && to ? part(to[of] - from[of], seconds) : 0;
    const gpuShare = from && to ? share(to.finishedNs - from.finishedNs, seconds) : 0;
    return {
      launches: slot.launches,
      graphs: slot.graphs,
      copies: slot.copies,
      chunks: slot.chunks,
      trickles: slot.minProgress,
      longKernels: slot.longKernels,
      longestKernelUs: slot.longestNs / 1e3,
      longestKernel: kernelTitle(printable(slot.longestName)),
      unknownLaunches: slot.unknownLaunches,
      preemptible: { variants: slot.variants, launches: slot.preemptible },
      graphGates: { places: slot.graphGates, wholeGraphs: slot.wholeGraphs },
      splitProducts: slot.splitProducts,
      gang:
        slot.gangRanks === 0
          ? undefined
          : {
              ranks: slot.gangRanks,
              commits: slot.commits,
              timeouts: slot.commitTimeouts,
              progress: slot.commitProgress,
            },
      unhooked: slot.unhooked,
      caveats: slot.caveats,
      memoryUsed: slot.memoryUsed,
      memoryQuota: slot.memoryQuota,
      memoryRefusals: slot.memoryRefusals,
      memory: movableMemory(slot.memory, slot.memoryUsed, to?.at ?? 0),
      aheadUs: slot.releasedNs / 1e3,
      submittedSeconds: slot.submittedNs / 1e9,
      finishedSeconds: slot.finishedNs / 1e9,
      heldSeconds: slot.heldNs / 1e9,
      cappedSeconds: slot.cappedNs / 1e9,
      turnSeconds: slot.turnNs / 1e9,
      emptySeconds: slot.emptyNs / 1e9,
      gpuShare: Math.min(MAX_CONCURRENT, Math.max(0, gpuShare)),
      heldShare: partLost("heldNs"),
      cappedShare: partLost("cappedNs"),
      turnShare: partLost("turnNs"),
      emptyShare: partLost("emptyNs"),
      keptShare: seconds > 0 ? within(1 - partLost("heldNs") - partLost("turnNs"), 1) : undefined,
    };
  }
}
