// Cotenant with several jobs on a GPU, which MuxFlow leaves open (section 8). The first job of each GPU is placed as
// `cotenant` does it. Then the waiting jobs are matched to the groups that exist, by what each would add, layer by
// layer, so that no job joins a group while GPUs are free. MPS limits each client and not their sum. So the shares of a
// group are given out under a cap on their sum: the largest at which requests are predicted to stay within the same
// limit as with one job. A job that joined stays until it ends. A job that is left alone on a GPU counts as its first
// again.
//
// The cost of a group is predicted as the product of its pairs, as the simulator composes it (sharing.ts).
import { type Learned, learning, responseGrowth, SHARE_STEP, shareOut } from "#place";
import type { Predictions } from "../model/predictions.ts";
import { smNeed, type Workload } from "../model/workload.ts";
import { cotenantWith, pairKey } from "./cotenant.ts";
import { matchJobs, predictedRetained, roundLoad } from "./pairing.ts";
import type {
  JobView,
  Moment,
  Order,
  Placed,
  Scheduler,
  SchedulerKind,
  SeatView,
  View,
} from "./scheduler.ts";

const MAX_JOBS = 3;
/** Largest predicted slowdown factor of requests beside a group. */
const MOST_SLOWDOWN = 1.15;
/**
 * Smallest gain of joining, in GPUs' worth of work. With less, an error of the forecast would turn it into a loss
 * (chosen on seed 1 of two scenarios, docs/design/cluster.md).
 */
const MIN_GAIN = 0.25;
/** The part of its speed that a job may lose to jobs of lower priority. */
const YIELDED = 0.05;

export const oursSeveral: SchedulerKind = {
  name: "cotenant-several",
  summary: `Cotenant with up to ${MAX_JOBS} jobs on a GPU when GPUs are short, under a cap on the sum of their shares`,
  gangs: false,
  trigger: "once",
  make: () => make(),
};

function make(): Scheduler {
  // A job alone with the service corrects the forecasts of pairs. With several jobs, the causes cannot be distinguished.
  const learned = learning();
  const first = cotenantWith({ learns: true, learned });
  const groups = new Map<string, Group | undefined>();
  const groupOf = (
    view: Moment,
    seat: SeatView,
    jobs: readonly Workload[],
    load: number,
  ): Group | undefined => {
    const names = jobs.map(({ name }) => name);
    const { online } = seat;
    const ratios = online ? jobs.map((job) => learned.ratio(pairKey(online, job)).toFixed(2)) : [];
    const key = [online?.name, load.toFixed(2), ...ratios, ...names].join("\n");
    if (!groups.has(key))
      groups.set(key, group(corrected(view.predictions, learned), online, jobs, load));
    return groups.get(key);
  };
  const loadFor = (view: View, seat: SeatView) =>
    roundLoad(Math.max(seat.load, seat.peakLoad(view.now + view.interval)));

  /** Adds orders for `waiting` to `orders`, and sets the shares of all jobs that share a GPU. */
  const addToGroups = (
    view: View,
    orders: readonly Order[],
    waiting: readonly JobView[],
  ): Order[] => {
    const jobs = new Map(view.jobs.map((job) => [job.index, job]));
    const there = new Map<number, JobView[]>();
    const sit = ({ job, seats: [seat] }: Order) => {
      const one = jobs.get(job);
      if (one && seat !== undefined) there.set(seat, [...(there.get(seat) ?? []), one]);
    };
    orders.forEach(sit);
    const all = [...orders];
    // A waiting job with higher priority than one that has a GPU of its own gets that GPU in the next round, so it need
    // not share.
    const least = Math.min(
      ...[...there.values()].map((here) => Math.max(...here.map(({ priority }) => priority))),
    );
    let left = waiting.filter(({ priority }) => priority <= least);
    for (let size = 1; size < MAX_JOBS && left.length > 0; size++) {
      const hosts = view.seats
        .filter(({ index, healthy }) => healthy && there.get(index)?.length === size)
        .map((seat) => withoutMemory(seat, there.get(seat.index) ?? []));
      const added = matchJobs(hosts, left, {
        load: (seat) => loadFor(view, seat),
        offer(seat, job, load) {
          const here = there.get(seat.index) ?? [];
          const present = here.map(({ workload }) => workload);
          const speeds = (jobs: readonly Workload[]) => groupOf(view, seat, jobs, load)?.speeds;
          const before = speeds(present) ?? [];
          const after = speeds([...present, job.workload]);
          if (!after) return { share: SHARE_STEP, weight: 0 };
          const yields = here.some(
            ({ priority }, i) =>
              priority > job.priority && (after[i] ?? 0) < (1 - YIELDED) * (before[i] ?? 0),
          );
          const gain = yields ? 0 : sum(after) - sum(before);
          return { share: SHARE_STEP, weight: gain >= MIN_GAIN ? gain : 0 };
        },
        kind: ({ priority }) => String(priority),
        seatKind: (seat) =>
          (there.get(seat.index) ?? [])
            .map(({ workload, priority }) => `${workload.name} ${priority}`)
            .join(" "),
        keepBonus: 0,
      });
      added.forEach(sit);
      all.push(...added);
      const placed = new Set(added.map(({ job }) => job));
      left = left.filter(({ index }) => !placed.has(index));
    }
    return all.map((order) => {
      const seat = view.seats[order.seats[0] ?? -1];
      const beside = there.get(seat?.index ?? -1) ?? [];
      if (!seat || beside.length < 2) return order;
      const place = beside.findIndex(({ index }) => index === order.job);
      return {
        ...order,
        share: sharesIn(view, seat, beside, loadFor(view, seat))[place] ?? order.share,
      };
    });
  };
  const sharesIn = (
    view: Moment,
    seat: SeatView,
    jobs: readonly JobView[],
    load: number,
  ): readonly number[] =>
    groupOf(
      view,
      seat,
      jobs.map(({ workload }) => workload),
      load,
    )?.shares ?? jobs.map(() => SHARE_STEP);

  return {
    ...first,
    inOrder: false,
    jobsPerGpu: MAX_JOBS,
    plan(view) {
      const rank = new Map(view.jobs.map(({ index, priority }) => [index, priority]));
      const byRank = (a: number, b: number) => (rank.get(b) ?? 0) - (rank.get(a) ?? 0);
      const extra = new Set(view.seats.flatMap(({ jobs }) => jobs.toSorted(byRank).slice(1)));
      const stay = view.jobs.filter(({ index }) => extra.has(index));
      const guests = new Map<number, JobView[]>();
      for (const job of stay) {
        const seat = job.placed?.seats[0] ?? -1;
        guests.set(seat, [...(guests.get(seat) ?? []), job]);
      }
      const main = view.jobs
        .filter(({ index }) => !extra.has(index))
        .map((job) => {
          const { placed } = job;
          return placed && guests.has(placed.seats[0] ?? -1) ? unmeasured(job, placed) : job;
        });
      const orders = first.plan({
        ...view,
        jobs: main,
        seats: view.seats.map((seat) => withoutMemory(seat, guests.get(seat.index) ?? [])),
      });
      const kept = stay.map(({ index, placed }) => ({
        job: index,
        seats: placed?.seats ?? [],
        share: placed?.share ?? SHARE_STEP,
      }));
      const ordered = new Set(orders.map(({ job }) => job));
      return addToGroups(
        view,
        [...orders, ...kept],
        main.filter(({ index, placed }) => !placed && !ordered.has(index)),
      );
    },
    fill(view) {
      const orders =
        first.fill?.({ ...view, jobs: view.jobs.filter(({ placed }) => !placed) }) ?? [];
      const ordered = new Set(orders.map(({ job }) => job));
      const running = view.jobs.flatMap(({ index, placed }) =>
        placed ? [{ job: index, seats: placed.seats, share: placed.share }] : [],
      );
      const waiting = view.jobs.filter(({ index, placed }) => !placed && !ordered.has(index));
      // The shares of running jobs are corrected by `adjust`.
      const old = new Set(running.map(({ job }) => job));
      return addToGroups(view, [...running, ...orders], waiting).filter(({ job }) => !old.has(job));
    },
    adjust(seat, job, moment, there) {
      if (there.length < 2)
        return first.adjust?.(seat, job, moment, there) ?? job.placed?.share ?? 1;
      return sharesIn(moment, seat, there, roundLoad(seat.load))[there.indexOf(job)] ?? SHARE_STEP;
    },
  };
}

const withoutMemory = (seat: SeatView, jobs: readonly JobView[]): SeatView =>
  jobs.length === 0
    ? seat
    : {
        index: seat.index,
        node: seat.node,
        type: seat.type,
        freeMemoryGB:
          seat.freeMemoryGB - jobs.reduce((sum, { workload }) => sum + workload.memoryGB, 0),
        online: seat.online,
        healthy: seat.healthy,
        jobs: seat.jobs,
        load: seat.load,
        activity: seat.activity,
        peakLoad: (until) => seat.peakLoad(until),
      };

/** A job that shares its GPU with other jobs tells nothing about its pair. */
const unmeasured = (job: JobView, { seats, share }: Placed): JobView => ({
  index: job.index,
  name: job.name,
  workload: job.workload,
  gpus: job.gpus,
  submitted: job.submitted,
  priority: job.priority,
  attained: job.attained,
  remaining: job.remaining,
  placed: { seats, share, retained: undefined, slowdown: undefined },
});

interface Group {
  readonly shares: readonly number[];
  /** Retained throughputs. */
  readonly speeds: readonly number[];
}

const corrected = (predictions: Predictions, learned: Learned): Predictions => ({
  ...predictions,
  offline: (online, offline, share) =>
    predictions.offline(online, offline, share) * learned.ratio(pairKey(online, offline)),
});

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);

/** Forms a group at the largest cap on the sum of shares that requests tolerate; undefined if they tolerate none. */
function group(
  predictions: Predictions,
  online: Workload | undefined,
  jobs: readonly Workload[],
  load: number,
): Group | undefined {
  const wants = jobs.map(smNeed);
  for (let tenths = Math.round(1 / SHARE_STEP); tenths >= jobs.length; tenths--) {
    const shares = shareOut(tenths * SHARE_STEP, wants).map((share) =>
      Math.max(SHARE_STEP, Math.floor(share / SHARE_STEP + 1e-9) * SHARE_STEP),
    );
    const kept = online
      ? jobs.reduce((left, job, i) => left * predictions.online(online, job, shares[i] ?? 1), 1)
      : 1;
    if (online && responseGrowth(load, kept) > MOST_SLOWDOWN) continue;
    const speeds = jobs.map((job, i) =>
      jobs.reduce(
        (left, other, k) =>
          k === i ? left : left * predictions.beside(job, other, shares[k] ?? 1),
        predictedRetained(predictions, online, job, shares[i] ?? 1, load),
      ),
    );
    return { shares, speeds };
  }
  return undefined;
}
