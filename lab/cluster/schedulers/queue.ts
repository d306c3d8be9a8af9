// Schedulers that order the jobs and serve them from the front. A job that does not fit is skipped.
import type {
  JobView,
  Order,
  Placed,
  Scheduler,
  SchedulerKind,
  SeatView,
  View,
} from "./scheduler.ts";

/** The share of MuxFlow without dynamic shares, and of all schedulers without shares: the 40 % of Figure 8 (b). */
export const FIXED_SHARE = 0.4;

/**
 * Serves jobs in their order. Each gets free seats, all on one node if possible. A job that keeps running keeps its
 * seats. `preempts`: a job loses its seats to a job before it in the order.
 */
export function serve(view: View, ordered: readonly JobView[], preempts: boolean): Order[] {
  const room = new Map(view.seats.map((seat) => [seat.index, seat]));
  const chosen: { readonly job: JobView; readonly placed: Placed | undefined }[] = [];
  const keep = (job: JobView, placed: Placed) => {
    chosen.push({ job, placed });
    for (const seat of placed.seats) room.delete(seat);
  };
  if (!preempts) for (const job of ordered) if (job.placed) keep(job, job.placed);
  if (preempts) {
    // First decides which jobs run, by number of seats only, and then where. So a running job need not move to make
    // room.
    let free = [...room.values()].filter(({ healthy }) => healthy).length;
    const running = ordered.filter((job) => {
      if (job.gpus > free) return false;
      free -= job.gpus;
      return true;
    });
    for (const job of running) if (job.placed) keep(job, job.placed);
    return [
      ...chosen.map(order),
      ...settle(
        running.filter((job) => !job.placed),
        room,
      ),
    ];
  }
  return [
    ...chosen.map(order),
    ...settle(
      ordered.filter((job) => !job.placed),
      room,
    ),
  ];
}

const order = ({
  job,
  placed,
}: {
  readonly job: JobView;
  readonly placed: Placed | undefined;
}): Order => ({
  job: job.index,
  seats: placed?.seats ?? [],
  share: placed?.share ?? FIXED_SHARE,
});

function settle(jobs: readonly JobView[], room: Map<number, SeatView>): Order[] {
  const orders: Order[] = [];
  for (const job of jobs) {
    const seats = seatsFor(job, room);
    if (!seats) continue;
    for (const { index } of seats) room.delete(index);
    orders.push({ job: job.index, seats: seats.map(({ index }) => index), share: FIXED_SHARE });
  }
  return orders;
}

/** Seats on the fullest node that has room for all, or else on as few nodes as possible. */
function seatsFor(
  job: JobView,
  room: ReadonlyMap<number, SeatView>,
): readonly SeatView[] | undefined {
  if (job.gpus === 1) {
    for (const seat of room.values()) if (fits(job, seat)) return [seat];
    return undefined;
  }
  const nodes = new Map<number, SeatView[]>();
  for (const seat of room.values())
    if (fits(job, seat)) nodes.set(seat.node, [...(nodes.get(seat.node) ?? []), seat]);
  const bySize = [...nodes.values()].sort((a, b) => a.length - b.length);
  const one = bySize.find((seats) => seats.length >= job.gpus);
  const seats = (one ?? bySize.reverse().flat()).slice(0, job.gpus);
  return seats.length === job.gpus ? seats : undefined;
}

export const fits = (job: JobView, seat: SeatView): boolean =>
  seat.healthy && job.workload.memoryGB <= seat.freeMemoryGB;

const firstCome = (view: View): Order[] => serve(view, view.jobs, false);

const inTurns = (mechanism: "time" | "priority-time"): Scheduler => ({
  mechanism,
  protects: false,
  inOrder: true,
  plan: firstCome,
});

export const onlineOnly: SchedulerKind = {
  name: "online-only",
  summary: "no best-effort work at all: what the online services are like alone",
  gangs: true,
  trigger: "rounds",
  idle: true,
  make: () => ({ mechanism: "space", protects: false, plan: () => [] }),
};

export const timeSharing: SchedulerKind = {
  name: "time-sharing",
  summary: "both sides in equal time slices, first come first served (as in Gandiva)",
  gangs: true,
  trigger: "rounds",
  make: () => inTurns("time"),
};

export const priorityTimeSharing: SchedulerKind = {
  name: "priority-time-sharing",
  summary: "time slices, most of them for the online side (as in AntMan and PAI)",
  gangs: true,
  trigger: "rounds",
  make: () => inTurns("priority-time"),
};

export const srtf: SchedulerKind = {
  name: "srtf",
  summary: "shortest remaining time first, with preemption; knows durations",
  gangs: true,
  trigger: "rounds",
  make: () => ({
    mechanism: "space",
    protects: false,
    plan: (view) =>
      serve(
        view,
        [...view.jobs].sort((a, b) => a.remaining - b.remaining || a.index - b.index),
        true,
      ),
  }),
};
