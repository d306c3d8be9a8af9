// Cotenant's own scheduler: the decision of src/place, which the manager of a Kubernetes cluster asks too. Here GPUs and
// jobs of the simulator are described in its terms.
import {
  allows,
  bestOffer,
  DEFAULT_LIMITS,
  decide,
  type Gpu,
  type Job,
  type Learned,
  type Losing,
  learning,
  NEVER_MEASURED,
  type Offer,
  type Rules,
  ratiosOf,
  statedLoad,
  trialBook,
} from "#place";
import type { Workload } from "../model/workload.ts";
import { pairForecast } from "./pairing.ts";
import type {
  JobView,
  Moment,
  Order,
  Scheduler,
  SchedulerKind,
  SeatView,
  View,
} from "./scheduler.ts";

const MIB = 2 ** 20;

/** Memory that a job states, and that its GPU counts, bytes: whole MiB, as pods state theirs. */
export const statedBytes = ({ memoryGB }: Workload): number =>
  Math.max(1, Math.ceil(memoryGB * 1024)) * MIB;

/** A prediction in thousandths, as a cluster notes it. */
const stated = (part: number): number => Math.round(1000 * part) / 1000;

interface Seat extends Gpu {
  readonly seat: SeatView;
}

interface Task extends Job {
  readonly view: JobView;
}

/** Memory of a job since it got its GPU. */
interface Started {
  readonly seat: number;
  /** s */
  readonly at: number;
  readonly parts: Offer["parts"];
}

/** Where there is no service, nothing limits the job. */
const ALONE: Offer = {
  ...{ share: 1, retained: 1, slowdown: 1, worth: 1 },
  parts: { beside: 0, alone: 1 },
};

interface Parts {
  /** Whether forecasts are corrected by observations. */
  readonly learns: boolean;
  /** Largest predicted slowdown of a service's requests. */
  readonly mostSlowdown?: number | undefined;
  readonly learned?: Learned;
}

export function cotenantWith({
  learns,
  mostSlowdown = DEFAULT_LIMITS.mostSlowdown,
  learned = learning(),
}: Parts): Scheduler {
  const limits = { ...DEFAULT_LIMITS, mostSlowdown };
  const offers = offersBy(learned, mostSlowdown);
  const tried = trialBook<{ readonly service: Workload; readonly activeShare: number }>();
  const started = new Map<number, Started>();
  let losing: Losing = new Map();

  const observe = (view: View): void => {
    const running = new Map(view.jobs.map((job) => [job.index, job]));
    for (const [index, start] of started) {
      const { workload, placed } = running.get(index) ?? {};
      if (placed?.seats[0] !== start.seat) started.delete(index);
      const seat = view.seats[start.seat];
      const retained = placed?.retained;
      if (!workload || !seat?.online || retained === undefined || !started.has(index)) continue;
      const service = seat.online;
      const parts = { beside: stated(start.parts.beside), alone: stated(start.parts.alone) };
      if (learns)
        learned.observe(`${index} ${start.at}`, pairKey(service, workload), { retained, parts });
      const conditions = { service, activeShare: statedLoad(seat.load) };
      tried.add(workload.name, service.name, { retained, at: 1000 * view.now, conditions });
    }
  };
  const decided = (view: View, isRound: boolean): readonly Order[] => {
    const offerOf = offers(view);
    const ratioOf = (workload: Workload) =>
      learns
        ? ratiosOf(
            [...tried.of(workload.name, 1000 * view.now)].map(
              ([beside, { retained, conditions }]) => [
                beside,
                retained,
                offerOf(conditions.service, workload, conditions.activeShare).retained,
              ],
            ),
          )
        : NEVER_MEASURED;
    const ratios = new Map<Workload, ReturnType<typeof ratioOf>>();
    const taskOf = (job: JobView): Task => {
      const { workload } = job;
      const ratio = ratios.get(workload) ?? ratioOf(workload);
      ratios.set(workload, ratio);
      return {
        ...{ view: job, name: job.name, owner: job.name, priority: job.priority, ratio },
        ...{ memoryBytes: statedBytes(workload), constraints: "", slowed: [] },
        ...{ jobKind: workload.name, forecastKind: workload.name },
      };
    };
    const served = new Map(
      view.seats.flatMap((seat): readonly [string, Seat][] =>
        seat.healthy ? [[String(seat.index), seatOf(seat)]] : [],
      ),
    );
    const open = [...served.values()].filter(
      ({ pods, slots, activeShare }) => pods < slots && activeShare <= limits.mostActiveShare,
    );
    const rules: Rules<Seat, Task> = {
      fits: () => true,
      take: () => true,
      forecast({ seat: { online }, activeShare }, { view: { workload } }) {
        const offer = offerOf(online, workload, activeShare);
        return allows(limits, offer) ? { ...offer, isCorrected: true } : undefined;
      },
    };
    const worths = new Map<string, number>();
    const movable = view.jobs.flatMap((job) => {
      const from = String(job.placed?.seats[0] ?? -1);
      const seat = served.get(from);
      if (!job.placed || !seat) return [];
      const again = taskOf(job);
      const offer = offerOf(seat.seat.online, job.workload, seat.activeShare);
      const here = job.placed.retained ?? offer.retained * again.ratio.of(seat.beside);
      const worth = here * (offer.worth / offer.retained || 1);
      worths.set(from, (worths.get(from) ?? 0) + worth);
      const costSeconds = Math.max(1, Math.ceil(view.restart));
      const { at = 0 } = started.get(job.index) ?? {};
      const forSeconds = view.now - at;
      // Each start is a pod of its own in a cluster, and has lost nothing yet.
      const id = `${job.index} ${at}`;
      return [{ again, from, id, costSeconds, forSeconds, retained: here, worth }];
    });
    const decision = decide({
      ...{ waiting: inOrder(view.jobs).map(taskOf), movable, open, served, kept: [], rules },
      moves: {
        ...{ ...limits, losing, now: 1000 * view.now, intervalSeconds: view.interval },
        sumOn: (uuid) => worths.get(uuid) ?? 0,
      },
    });
    // Between rounds there are no jobs that run.
    if (isRound) losing = decision.losing;
    const moves = decision.moves.slice(0, (limits.evictionsPerMinute * view.interval) / 60);
    return [
      ...decision.placed.map(({ job, gpu }) => ({ job: job.view, gpu })),
      ...moves.map(({ one, to }) => ({ job: one.again.view, gpu: to })),
    ].map(({ job, gpu: { seat, activeShare } }) => {
      const { share, parts } = offerOf(seat.online, job.workload, activeShare);
      // The order is that of the last starts.
      started.delete(job.index);
      started.set(job.index, { seat: seat.index, at: view.now, parts });
      return { job: job.index, seats: [seat.index], share };
    });
  };
  return {
    mechanism: "space",
    protects: true,
    inOrder: true,
    plan(view) {
      observe(view);
      const orders = new Map<number, Order>();
      for (const { index, placed } of view.jobs)
        if (placed) orders.set(index, { job: index, seats: placed.seats, share: placed.share });
      for (const order of decided(view, true)) orders.set(order.job, order);
      return [...orders.values()];
    },
    fill: (view) => decided(view, false),
    adjust: (seat, { workload }, moment) =>
      offers(moment)(seat.online, workload, statedLoad(seat.load)).share,
  };
}

/** Key of a pair in what is learned. */
export const pairKey = (online: Workload, offline: Workload): string =>
  `${online.name}\n${offline.name}`;

/** Higher priorities first, then in the order of submission, which a cluster notes in seconds. */
const inOrder = (jobs: readonly JobView[]): readonly JobView[] =>
  jobs
    .filter(({ placed }) => !placed)
    .sort(
      (a, b) =>
        b.priority - a.priority ||
        Math.floor(a.submitted) - Math.floor(b.submitted) ||
        a.index - b.index,
    );

const seatOf = (seat: SeatView): Seat => ({
  ...{ seat, uuid: String(seat.index), site: "", model: seat.type, slots: 1 },
  ...{ serviceKind: seat.online?.name ?? "", beside: seat.online?.name ?? "" },
  activeShare: statedLoad(seat.load),
  pods: seat.jobs.length,
  freeBytes: seat.freeMemoryGB * 2 ** 30,
});

/** The best offers of pairs. They are cached until what was learned of the pair changes noticeably. */
function offersBy(learned: Learned, mostSlowdown: number) {
  const known = new Map<Workload, Map<Workload, { ratio: number; byLoad: Map<number, Offer> }>>();
  return ({ predictions }: Moment) =>
    (online: Workload | undefined, offline: Workload, load: number): Offer => {
      if (!online) return ALONE;
      const beside = known.get(online) ?? new Map();
      const ratio = learned.ratio(pairKey(online, offline));
      let pair = beside.get(offline);
      if (pair?.ratio !== ratio) {
        pair = { ratio, byLoad: new Map() };
        known.set(online, beside.set(offline, pair));
      }
      const before = pair.byLoad.get(load);
      if (before) return before;
      const offer = bestOffer(
        pairForecast(predictions, online, offline),
        load,
        mostSlowdown,
        ratio,
      );
      pair.byLoad.set(load, offer);
      return offer;
    };
}

const kind = (name: string, summary: string, learns: boolean): SchedulerKind => ({
  name,
  summary,
  gangs: false,
  trigger: "once",
  knob: {
    about: "the largest slowdown factor that is predicted of a service's requests",
    least: 1,
    most: 100,
    usual: DEFAULT_LIMITS.mostSlowdown,
  },
  make: (mostSlowdown) => cotenantWith({ learns, mostSlowdown }),
});

export const ours = kind(
  "cotenant",
  "what Cotenant's manager decides: shares from forecasts, moves that pay, seats filled at once",
  true,
);
export const oursUnlearning = kind(
  "cotenant-fixed",
  "Cotenant without learning from what it observes",
  false,
);
