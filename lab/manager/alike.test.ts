// The manager of a cluster and the simulator's Cotenant decide alike: the one by objects as an API server holds them, the other
// by the simulator's own view.
import { expect, test } from "vitest";
import {
  type JobView,
  type Order,
  type SeatView,
  schedulers,
  type View,
  type Workload,
} from "#cluster";
import { managerScheduler } from "./scheduler.ts";

/** Uniform numbers in [0, 1): xorshift32 (Marsaglia, 2003). */
function uniform(seed: number): () => number {
  let state = seed * 2_654_435_761 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

const CLUSTERS = 250;
/** Each shows another state of a cluster. */
const ROUNDS = 4;
const STATES = CLUSTERS * ROUNDS;
const RESTART_S = 60;

const workload = (name: string, role: Workload["role"], random: () => number): Workload => {
  const need = 0.2 + 0.8 * random();
  return {
    ...{ name, role, requestMs: role === "online" ? 10 : 0, memoryGB: 1 + 12 * random() },
    ...{ busy: random(), memoryBusy: random() },
    byShare: Array.from({ length: 10 }, (_, i) => Math.min(1, (i + 1) / 10 / need)),
  };
};

/** A cluster with jobs that wait. */
function randomState(seed: number): View {
  const random = uniform(seed);
  const below = (n: number) => Math.floor(n * random());
  const services = Array.from({ length: 1 + below(3) }, (_, i) =>
    workload(`s${i}`, "online", random),
  );
  const trainings = Array.from({ length: 1 + below(4) }, (_, i) =>
    workload(`t${i}`, "offline", random),
  );
  const loss = new Map(
    services.flatMap(({ name }) =>
      trainings.map((one) => [`${name} ${one.name}`, [0.6 * random(), random()] as const] as const),
    ),
  );
  const lossOf = (online: Workload, offline: Workload) =>
    loss.get(`${online.name} ${offline.name}`) ?? ([0, 0] as const);
  const seats = Array.from({ length: 2 + below(10) }, (_, index): SeatView => {
    const load = random();
    return {
      ...{ index, node: index, type: "GPU", freeMemoryGB: 4 + 12 * random(), load, activity: load },
      ...{ healthy: random() < 0.9, online: services[below(services.length)], jobs: [] },
      peakLoad: () => load,
    };
  });
  const jobs = Array.from(
    { length: 1 + below(14) },
    (_, index): JobView => ({
      ...{ index, name: `job-${index}`, gpus: 1, submitted: 600 * random(), priority: below(3) },
      ...{ workload: trainings[below(trainings.length)] as Workload },
      ...{ attained: 0, remaining: 1000, placed: undefined },
    }),
  );
  return {
    ...{ now: 900, interval: 900, restart: RESTART_S, seats, jobs },
    predictions: {
      online: (online, offline, share) => 1 - share * lossOf(online, offline)[0],
      offline: (online, offline, share) => share * (1 - lossOf(online, offline)[1]),
      beside: () => 1,
    },
  };
}

test(`the manager, through objects as an API server holds them, decides like the simulator in ${STATES} random states`, () => {
  const ours = schedulers.find(({ name }) => name === "cotenant");
  let [placed, moved] = [0, 0];
  for (let seed = 1; seed <= CLUSTERS; seed++) {
    let view = randomState(seed);
    if (!ours) throw new Error("there is nothing to compare");
    const [one, other] = [ours.make(), managerScheduler().make()];

    const random = uniform(seed + STATES);
    // From the second round on they show what jobs were measured to retain, so that some are moved.
    for (let round = 0; round < ROUNDS; round++) {
      const orders = one.plan(view);
      expect(sorted(other.plan(view)), `seed ${seed}, round ${round}`).toEqual(sorted(orders));
      const before = view;
      placed += orders.length;
      moved += orders.filter(({ job, seats: [seat] }) => {
        const { placed: old } = before.jobs[job] ?? {};
        return old && old.seats[0] !== seat;
      }).length;
      view = after(view, orders, random);
    }
  }
  expect(placed).toBeGreaterThan(STATES);
  expect(moved).toBeGreaterThan(CLUSTERS / 5);
});

const sorted = (orders: readonly Order[]): readonly Order[] =>
  orders
    .map(({ job, seats, share }) => ({ job, seats, share: Math.round(1000 * share) / 1000 }))
    .sort((a, b) => a.job - b.job);

/** The orders carried out, half an hour later, with other loads and a measurement of each job that runs. */
function after(view: View, orders: readonly Order[], random: () => number): View {
  const bySeat = new Map(orders.map((one) => [one.seats[0], one]));
  const byJob = new Map(orders.map((one) => [one.job, one]));
  return {
    ...view,
    now: view.now + 1800,
    seats: view.seats.map((seat): SeatView => {
      const order = bySeat.get(seat.index);
      return { ...seat, load: random(), jobs: order ? [order.job] : [] };
    }),
    jobs: view.jobs.map((job): JobView => {
      const order = byJob.get(job.index);
      if (!order) return { ...job, placed: undefined };
      const { seats, share } = order;
      return { ...job, placed: { seats, share, retained: random(), slowdown: 1 } };
    }),
  };
}
