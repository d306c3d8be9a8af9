// MuxFlow (2023), sections 4.3 and 5: every interval the whole cluster is matched again. A pair's weight is its
// predicted normalised throughput, at the complement of the online side's SM activity. Its ablations (Figure 13) leave
// out dynamic shares (S), matching (M), or both. Where the paper leaves something open, MuxFlow gets the better choice:
// of equal matchings, the one that moves fewer jobs, and a share may change without a restart.
import { complementShare } from "#place";
import { matchJobs, predictedRetained, roundLoad, strandedJobs } from "./pairing.ts";
import { FIXED_SHARE, serve } from "./queue.ts";
import type { Knob, Order, Scheduler, SchedulerKind, SeatView, View } from "./scheduler.ts";

/** Small, because it only breaks ties. */
const TIE = 1e-6;
/** Activity is measured continuously, and shares come in tenths. */
const dynamicShare = (seat: SeatView, most: number): number => complementShare(seat.activity, most);

interface Parts {
  /** The value of staying: it breaks ties, or it is what a move really costs. */
  readonly keepBonus?: (view: View) => number;
  readonly dynamic: boolean;
  readonly matching: boolean;
}

function muxflowWith({ dynamic, matching, keepBonus = () => TIE }: Parts, most: number): Scheduler {
  const shareOf = (seat: SeatView) => (dynamic ? dynamicShare(seat, most) : FIXED_SHARE);
  const matchAll = (view: View): Order[] => {
    const kept = strandedJobs(view);
    const held = new Set(kept.map(({ job }) => job));
    const orders = matchJobs(
      view.seats.filter(({ healthy }) => healthy),
      view.jobs.filter(({ index }) => !held.has(index)),
      {
        load: (seat) => roundLoad(seat.load),
        offer(seat, job, load) {
          const share = shareOf(seat);
          return {
            share,
            weight: predictedRetained(view.predictions, seat.online, job.workload, share, load),
          };
        },
        kind: () => "",
        keepBonus: keepBonus(view),
      },
    );
    return [...kept, ...orders];
  };
  return {
    mechanism: "space",
    protects: true,
    inOrder: true,
    plan(view) {
      const orders = matching ? matchAll(view) : serve(view, view.jobs, false);
      return orders.map((order) => {
        const seat = view.seats[order.seats[0] ?? -1];
        return seat ? { ...order, share: shareOf(seat) } : order;
      });
    },
    adjust: shareOf,
  };
}

/** Not in the paper. */
const knob: Knob = {
  about: "the largest share of the SMs that a job gets",
  least: 0.1,
  most: 1,
  usual: 1,
};

const kind = (name: string, summary: string, parts: Parts): SchedulerKind => ({
  name,
  summary,
  gangs: false,
  trigger: "rounds",
  ...(parts.dynamic ? { knob } : {}),
  make: (most = knob.usual) => muxflowWith(parts, most),
});

export const muxflow = kind(
  "muxflow",
  "dynamic SM shares and matching of the whole cluster every interval",
  {
    dynamic: true,
    matching: true,
  },
);
export const muxflowS = kind("muxflow-s", "MuxFlow without dynamic SM shares", {
  dynamic: false,
  matching: true,
});
export const muxflowM = kind("muxflow-m", "MuxFlow without matching", {
  dynamic: true,
  matching: false,
});
export const muxflowSM = kind("muxflow-s-m", "MuxFlow without either: only its protection", {
  dynamic: false,
  matching: false,
});
/** Not in the paper: as in Cotenant, a move must pay for its restart. */
export const muxflowCalm = kind(
  "muxflow-calm",
  "MuxFlow that moves a job only where that pays for its restart",
  {
    dynamic: true,
    matching: true,
    keepBonus: (view) => view.restart / view.interval,
  },
);
