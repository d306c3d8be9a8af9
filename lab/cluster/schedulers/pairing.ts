// The common part of schedulers that pair jobs with services: a forecast for a pair at a load, and a matching based
// on it.
import { match, type PairForecast, UNMATCHED } from "#place";
import type { Predictions } from "../model/predictions.ts";
import { aloneAt, type Workload } from "../model/workload.ts";
import type { JobView, Order, SeatView, View } from "./scheduler.ts";

/**
 * Predicted retained throughput of the offline side: that beside a request while one is served, and that alone
 * otherwise.
 */
export function predictedRetained(
  predictions: Predictions,
  online: Workload | undefined,
  offline: Workload,
  share: number,
  load: number,
): number {
  const alone = aloneAt(offline, share);
  if (!online) return alone;
  const atWork = Math.min(1, load / predictions.online(online, offline, share));
  return atWork * predictions.offline(online, offline, share) + (1 - atWork) * alone;
}

/** The same forecasts, as a decision asks for them. */
export const pairForecast = (
  predictions: Predictions,
  online: Workload,
  offline: Workload,
): PairForecast => ({
  served: (share) => predictions.online(online, offline, share),
  beside: (share) => predictions.offline(online, offline, share),
  alone: (share) => aloneAt(offline, share),
});

/** Loads are rounded to this, so that a service's GPUs form few kinds. */
const LOAD_STEP = 0.05;
export const roundLoad = (load: number): number =>
  Math.min(1, Math.ceil(load / LOAD_STEP - 1e-9) * LOAD_STEP);

export interface Offer {
  readonly share: number;
  readonly weight: number;
}

/**
 * Matches jobs to seats. `load`: the load of a seat that the scheduler assumes. `offer`: share and weight of a pair at
 * that load; a weight of 0 keeps the two apart. `keepBonus`: the value of staying in the same kind of seat. `offer` is
 * called once for each kind of pair.
 */
export function matchJobs(
  seats: readonly SeatView[],
  jobs: readonly JobView[],
  scheme: {
    load(seat: SeatView): number;
    offer(seat: SeatView, job: JobView, load: number): Offer;
    /** Jobs with the same kind are interchangeable. So are seats with the same service and load. */
    kind(job: JobView): string;
    seatKind?(seat: SeatView): string;
    readonly keepBonus: number;
  },
): Order[] {
  if (seats.length === 0 || jobs.length === 0) return [];
  const loads = seats.map((seat) => scheme.load(seat));
  const place = new Map(seats.map((seat, i) => [seat.index, i]));
  const offers = new Map<string, Offer>();
  const offerOf = (i: number, job: JobView, kinds: string): Offer => {
    const known = offers.get(kinds);
    if (known) return known;
    const made = scheme.offer(seats[i] as SeatView, job, loads[i] ?? 0);
    offers.set(kinds, made);
    return made;
  };
  const seatKinds = seats.map(
    (seat, i) =>
      `${seat.type} ${seat.online?.name ?? ""} ${(loads[i] ?? 0).toFixed(2)} ${scheme.seatKind?.(seat) ?? ""}`,
  );
  // Equal names are one string, which is hashed once.
  const names = new Map<Workload, Map<string, string>>();
  const jobKinds = jobs.map((job) => {
    const kind = scheme.kind(job);
    const ofWorkload = names.get(job.workload) ?? new Map<string, string>();
    const known = ofWorkload.get(kind);
    if (known !== undefined) return known;
    const name = `${job.workload.name} ${kind}`;
    names.set(job.workload, ofWorkload.set(kind, name));
    return name;
  });
  const partners = match(
    seats.map((seat, i) => ({
      name: `GPU ${seat.index}`,
      kind: seatKinds[i] ?? "",
      freeMemoryGB: seat.freeMemoryGB,
      // A job may stay on a GPU that turned unhealthy, but the GPU gets no new work.
      healthy: seat.healthy,
      place: i,
    })),
    jobs.map((job, j) => ({
      name: job.name,
      kind: jobKinds[j] ?? "",
      memoryGB: job.workload.memoryGB,
      priority: job.priority,
      home: job.placed ? place.get(job.placed.seats[0] ?? -1) : undefined,
      job,
    })),
    (seat, { job, kind }, stays) => {
      const { weight } = offerOf(seat.place, job, `${seat.kind}\n${kind}`);
      return weight > 0 && stays ? weight * (1 + scheme.keepBonus) : weight;
    },
  );
  const orders: Order[] = [];
  jobs.forEach((job, j) => {
    const i = partners[j] ?? UNMATCHED;
    const seat = seats[i];
    if (i === UNMATCHED || !seat) return;
    const { share } = offerOf(i, job, `${seatKinds[i]}\n${jobKinds[j]}`);
    orders.push({ job: job.index, seats: [seat.index], share });
  });
  return orders;
}

/** Jobs that run where no new job may start. They stay. */
export function strandedJobs(view: View): Order[] {
  return view.jobs.flatMap(({ index, placed }) => {
    const seat = view.seats[placed?.seats[0] ?? -1];
    return placed && seat && !seat.healthy
      ? [{ job: index, seats: placed.seats, share: placed.share }]
      : [];
  });
}
