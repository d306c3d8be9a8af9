// MuxFlow's scheduling (section 5, Algorithm 1). Equal seats and jobs are matched by kinds, which
// is exact too and takes milliseconds for tens of thousands; if nearly all differ, one by one.
import { assign } from "./assignment.ts";
import { badWeight, noCandidates } from "./errors.ts";
import { assignKinds } from "./kinds.ts";
import { UNMATCHED } from "./paths.ts";
import { priorityBonuses } from "./priority.ts";

export interface Seat {
  readonly name: string;
  readonly kind: string;
  readonly freeMemoryGB: number;
  readonly healthy: boolean;
}

export interface Candidate {
  readonly name: string;
  readonly kind: string;
  readonly memoryGB: number;
  readonly priority: number;
  readonly home?: number | undefined;
}

/** If it is not above 0, the two are kept apart. `stays`: it is on a seat of this kind now. */
export type Weigh<S extends Seat, C extends Candidate> = (
  seat: S,
  candidate: C,
  stays: boolean,
) => number;

export function match<S extends Seat, C extends Candidate>(
  seats: readonly S[],
  candidates: readonly C[],
  weigh: Weigh<S, C>,
): Int32Array {
  if (seats.length === 0) throw noCandidates("GPUs");
  const homeKind = ({ home }: C) => (home === undefined ? "" : seats[home]?.kind);
  const seatKinds = groupByKind(seats, ({ kind, healthy, freeMemoryGB }) => [
    kind,
    healthy,
    freeMemoryGB,
  ]);
  const jobKinds = groupByKind(candidates, (one) => [
    one.kind,
    one.priority,
    one.memoryGB,
    homeKind(one) ?? "",
  ]);
  const weights = kindWeights(
    seatKinds.map((kind) => kind.first),
    jobKinds.map((kind) => kind.first),
    (seat, job) => weigh(seat, job, homeKind(job) === seat.kind),
    Math.min(seats.length, candidates.length),
  );
  const flow =
    seatKinds.length + jobKinds.length <= MAX_KINDS
      ? assignKinds({ rows: jobKinds.map(size), columns: seatKinds.map(size), weights })
      : flowOfDense(jobKinds, seatKinds, weights);
  return assignSeats(candidates, jobKinds, seatKinds, flow);
}

/** With more kinds than this, matching one by one is faster. */
const MAX_KINDS = 600;

interface Kind<T> {
  readonly first: T;
  readonly members: number[];
}

const size = ({ members }: Kind<unknown>): number => members.length;

function groupByKind<T>(
  all: readonly T[],
  keyOf: (one: T) => readonly (string | number | boolean)[],
): Kind<T>[] {
  const kinds: Kind<T>[] = [];
  // The tree has a level for each part of the key: to join the parts takes longer than all else.
  const root: KindTree<T> = { below: new Map(), kind: undefined };
  all.forEach((one, index) => {
    let place = root;
    for (const part of keyOf(one)) {
      let next = place.below.get(part);
      if (!next) {
        next = { below: new Map(), kind: undefined };
        place.below.set(part, next);
      }
      place = next;
    }
    if (place.kind) place.kind.members.push(index);
    else {
      place.kind = { first: one, members: [index] };
      kinds.push(place.kind);
    }
  });
  return kinds;
}

interface KindTree<T> {
  readonly below: Map<string | number | boolean, KindTree<T>>;
  kind: Kind<T> | undefined;
}

function kindWeights<S extends Seat, C extends Candidate>(
  seats: readonly S[],
  jobs: readonly C[],
  weigh: (seat: S, job: C) => number,
  most: number,
): Float64Array {
  const weights = new Float64Array(jobs.length * seats.length);
  let largest = 0;
  jobs.forEach((job, i) => {
    seats.forEach((seat, j) => {
      if (!seat.healthy || job.memoryGB > seat.freeMemoryGB) return;
      const weight = weigh(seat, job);
      if (Number.isNaN(weight)) throw badWeight(seat.name, job.name, weight);
      if (weight > 0) weights[i * seats.length + j] = weight;
      largest = Math.max(largest, weight);
    });
  });
  const bonuses = priorityBonuses(
    jobs.map(({ priority }) => priority),
    most,
  );
  if (bonuses.size < 2) return weights;
  return weights.map((weight, edge) => {
    const job = jobs[Math.floor(edge / seats.length)];
    return weight > 0 ? weight + largest * (bonuses.get(job?.priority ?? 0) ?? 0) : weight;
  });
}

function flowOfDense(
  jobs: readonly Kind<Candidate>[],
  seats: readonly Kind<Seat>[],
  weights: Float64Array,
): Int32Array {
  const rows = jobs.flatMap(({ members }, kind) => members.map(() => kind));
  const columns = seats.flatMap(({ members }, kind) => members.map(() => kind));
  const dense = new Float64Array(rows.length * columns.length);
  rows.forEach((row, i) => {
    columns.forEach((column, j) => {
      dense[i * columns.length + j] = weights[row * seats.length + column] ?? 0;
    });
  });
  const partners = assign({ rows: rows.length, columns: columns.length, weights: dense });
  const flow = new Int32Array(jobs.length * seats.length);
  rows.forEach((row, i) => {
    const column = columns[partners[i] ?? UNMATCHED];
    if (column === undefined) return;
    const edge = row * seats.length + column;
    flow[edge] = (flow[edge] ?? 0) + 1;
  });
  return flow;
}

function assignSeats(
  candidates: readonly Candidate[],
  jobs: readonly Kind<Candidate>[],
  seats: readonly Kind<Seat>[],
  flow: Int32Array,
): Int32Array {
  const seatOf = new Int32Array(candidates.length).fill(UNMATCHED);
  const waiting = jobs.map(({ members }) => new Set(members));
  const free = seats.map(({ members }) => new Set(members));
  const left = Int32Array.from(flow);
  const give = (edge: number, choose: (job: number, seats: Set<number>) => number | undefined) => {
    const here = free[edge % seats.length] ?? new Set();
    const members = waiting[Math.floor(edge / seats.length)] ?? new Set();
    for (const job of members) {
      if ((left[edge] ?? 0) === 0) return;
      const seat = choose(job, here);
      if (seat === undefined) continue;
      here.delete(seat);
      members.delete(job);
      seatOf[job] = seat;
      left[edge] = (left[edge] ?? 0) - 1;
    }
  };
  const edges = [...flow.keys()].filter((edge) => (flow[edge] ?? 0) > 0);
  for (const edge of edges)
    give(edge, (job, here) => {
      const home = candidates[job]?.home;
      return home !== undefined && here.has(home) ? home : undefined;
    });
  for (const edge of edges) give(edge, (_, [first]) => first);
  return seatOf;
}
