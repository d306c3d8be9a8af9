// A cluster that follows KACE (SoCC'24): one target after the other takes the partner with the highest predicted sum of
// throughputs. Both sides are unrestricted, as in KACE's measurements, unless its knob says less. A running job is not
// moved.
import { predictedRetained } from "./pairing.ts";
import { fits } from "./queue.ts";
import type { JobView, Order, SchedulerKind, SeatView, View } from "./scheduler.ts";

const UNRESTRICTED = 1;

export const kaceGreedy: SchedulerKind = {
  name: "kace-greedy",
  summary: "the pair with the highest predicted throughput sum first, SMs unrestricted",
  gangs: false,
  trigger: "rounds",
  knob: {
    about: "the share of the SMs that each job may use",
    least: 0.1,
    most: 1,
    usual: UNRESTRICTED,
  },
  make: (share = UNRESTRICTED) => ({
    mechanism: "space",
    protects: false,
    inOrder: true,
    plan: (view) => plan(view, share),
  }),
};

function plan(view: View, share: number): Order[] {
  const orders: Order[] = view.jobs.flatMap(({ index, placed }) =>
    placed ? [{ job: index, seats: placed.seats, share: placed.share }] : [],
  );
  const taken = new Set(orders.flatMap(({ seats }) => seats));
  // Equal seats and jobs have the same sum, so the search for the heaviest pair compares kinds.
  const seats = groups(
    view.seats.filter((seat) => seat.healthy && !taken.has(seat.index)),
    (seat) => `${seat.online?.name} ${seat.load.toFixed(1)} ${seat.freeMemoryGB}`,
  );
  const jobs = groups(
    view.jobs.filter(({ placed }) => !placed),
    ({ workload }) => workload.name,
  );
  const pairs = jobs.flatMap((some) =>
    seats.map((there) => ({ some, there, sum: sumOf(view, some, there, share) })),
  );
  pairs.sort((a, b) => b.sum - a.sum);
  for (const { some, there, sum } of pairs)
    while (sum > 0 && some.length > 0 && there.length > 0) {
      const [job, seat] = [some.shift(), there.shift()];
      if (job && seat) orders.push({ job: job.index, seats: [seat.index], share });
    }
  return orders;
}

/** Returns 0 if the job does not fit. */
function sumOf(
  { predictions }: View,
  [job]: readonly JobView[],
  [seat]: readonly SeatView[],
  share: number,
): number {
  if (!job || !seat || !fits(job, seat)) return 0;
  const online = seat.online ? predictions.online(seat.online, job.workload, share) : 0;
  return online + predictedRetained(predictions, seat.online, job.workload, share, seat.load);
}

function groups<T>(all: readonly T[], kind: (one: T) => string): T[][] {
  const found = new Map<string, T[]>();
  for (const one of all) {
    const name = kind(one);
    const known = found.get(name);
    if (known) known.push(one);
    else found.set(name, [one]);
  }
  return [...found.values()];
}
