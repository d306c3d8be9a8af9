// Which waiting pods get which GPUs: `#place` gives each GPU one pod a round, and rounds follow each other until no pod
// or no place is left. Equal GPUs and equal pods are matched by kinds. So that there are few kinds, what distinguishes GPUs
// is reduced to what matters to the pods that wait: which of them may run there, and which of their sizes fits.
import { match, UNMATCHED } from "#place";
import type { Forecast } from "../state/objects.ts";
import { shortageOf, take } from "../state/requests.ts";
import type { GpuSeat } from "../state/seats.ts";
import { kindOfForecast, type WaitingPod } from "./waiting.ts";

const GIB = 2 ** 30;
/** Active shares are rounded up to steps, finer first: coarser ones where there would be too many kinds. */
const SHARE_STEPS = [0.05, 0.1, 0.25, 1];
/**
 * Limits the kinds of GPUs and of pods: matching by kinds takes time in the square of their number, for each of some
 * hundred paths.
 */
const MAX_KINDS = 280;
/** Each round takes some of the pods that still wait. More rounds mean that they hardly fit: the next interval goes on. */
const MAX_ROUNDS = 40;

export interface Placement {
  readonly waiting: WaitingPod;
  readonly seat: GpuSeat;
  readonly forecast: Forecast;
}

export interface Rules {
  /** Free amounts of each node; they shrink with each pod that is matched. */
  readonly free: ReadonlyMap<string, Map<string, number>>;
  /** The expected retained throughput of a pod on a GPU; undefined where it should not run. */
  forecast(seat: GpuSeat, waiting: WaitingPod): Forecast | undefined;
}

/** Pods in the order in which they get places. Changes `seats` and `free` as if the placements were there. */
export function placeInRounds(
  ordered: readonly WaitingPod[],
  seats: readonly GpuSeat[],
  rules: Rules,
): readonly Placement[] {
  const placed: Placement[] = [];
  let waiting = ordered;
  for (let round = 0; round < MAX_ROUNDS && waiting.length > 0; round++) {
    const open = seats.filter(({ pods, slots }) => pods < slots);
    const { entering, kinds } = enter(waiting, open, rules);
    if (entering.length === 0) break;
    const made = matchOnce(entering, kinds, rules);
    placed.push(...made);
    // A pod that entered and got nothing has lost to others of its turn. It enters again only where places are left.
    const gone = new Set(made.map((one) => one.waiting));
    if (gone.size === 0) break;
    waiting = waiting.filter((one) => !gone.has(one));
  }
  return placed;
}

interface SeatKind {
  readonly key: string;
  readonly seats: GpuSeat[];
}

/** The first pods that may run somewhere, at most one for each GPU, and the GPUs by kinds. */
function enter(
  waiting: readonly WaitingPod[],
  open: readonly GpuSeat[],
  rules: Rules,
): { readonly entering: readonly WaitingPod[]; readonly kinds: readonly SeatKind[] } {
  const classes = firstOfEach(waiting, ({ constraints }) => constraints);
  const sizes = [...new Set(waiting.map(({ memoryBytes }) => memoryBytes))].sort((a, b) => a - b);
  const signatures = new Map<string, string>();
  const slowed = new Set(classes.flatMap((one) => one.slowed));
  const signatureOf = (seat: GpuSeat): string => {
    const { name } = seat.node.metadata;
    const key = slowed.has(seat.beside) ? `${name}\n${seat.beside}` : name;
    let signature = signatures.get(key);
    if (signature === undefined) {
      const free = rules.free.get(name) ?? new Map();
      signature = classes.map((one) => (fits(one, seat, free) ? "1" : "0")).join("");
      signatures.set(key, signature);
    }
    return signature;
  };
  let kinds: SeatKind[] = [];
  for (const step of SHARE_STEPS) {
    kinds = groupBy(open, (seat) =>
      [
        ...[signatureOf(seat), seat.model, seat.service?.key ?? "", seat.pods],
        ...[Math.ceil(seat.activeShare / step), largestWithin(sizes, seat.freeBytes)],
      ].join("\n"),
    );
    if (kinds.length <= MAX_KINDS) break;
  }
  // The rest has its turn in a later round, when the largest kinds are used up.
  kinds = kinds.sort((a, b) => b.seats.length - a.seats.length).slice(0, MAX_KINDS);
  const places = kinds.reduce((sum, { seats }) => sum + seats.length, 0);
  const somewhere = new Map<string, boolean>();
  const jobKinds = new Set<string>();
  const entering: WaitingPod[] = [];
  for (const one of waiting) {
    // Pods of a lower priority come in a later round, to what is left then.
    const isLower = entering[0] !== undefined && one.priority < entering[0].priority;
    if (entering.length === places || isLower) break;
    const kind = kindOf(one);
    if (!jobKinds.has(kind) && jobKinds.size === MAX_KINDS) continue;
    let runs = somewhere.get(kind);
    if (runs === undefined) {
      runs = kinds.some(({ seats: [first] }) => first && worth(first, one, rules) > 0);
      somewhere.set(kind, runs);
    }
    if (!runs) continue;
    jobKinds.add(kind);
    entering.push(one);
  }
  return { entering, kinds };
}

const kindOf = (one: WaitingPod): string =>
  [one.constraints, one.memoryBytes, kindOfForecast(one), one.priority].join("\n");

const fits = (
  { pod, requests, obstacle, slowed }: WaitingPod,
  { node, beside }: GpuSeat,
  free: ReadonlyMap<string, number>,
): boolean =>
  !slowed.includes(beside) &&
  obstacle(pod, node) === undefined &&
  shortageOf(free, requests) === undefined;

/** Expected retained throughput of the pod on that GPU; 0 where it can't or should not run. */
export function worth(seat: GpuSeat, one: WaitingPod, rules: Rules): number {
  if (one.memoryBytes > seat.freeBytes) return 0;
  const free = rules.free.get(seat.node.metadata.name) ?? new Map();
  return fits(one, seat, free) ? (rules.forecast(seat, one)?.retained ?? 0) : 0;
}

function matchOnce(
  entering: readonly WaitingPod[],
  kinds: readonly SeatKind[],
  rules: Rules,
): readonly Placement[] {
  const seats = kinds.flatMap((kind) =>
    kind.seats.map((seat) => ({
      name: seat.uuid,
      kind: kind.key,
      // The kind says which sizes fit, and `worth` asks the seat itself.
      freeMemoryGB: Number.POSITIVE_INFINITY,
      healthy: true,
      seat,
    })),
  );
  const partners = match(
    seats,
    entering.map((one) => ({
      name: one.pod.metadata.name,
      kind: kindOf(one),
      memoryGB: one.memoryBytes / GIB,
      // All that enter a round have the same.
      priority: 0,
      one,
    })),
    ({ seat }, { one }) => worth(seat, one, rules),
  );
  return entering.flatMap((waiting, i): Placement[] => {
    const seat = seats[partners[i] ?? UNMATCHED]?.seat;
    if (seat === undefined) return [];
    const forecast = rules.forecast(seat, waiting);
    return forecast && occupy(seat, waiting, rules) ? [{ waiting, seat, forecast }] : [];
  });
}

/** Takes a place. The GPUs of a node share its cores and memory, so an earlier pod may have taken them: false then. */
export function occupy(seat: GpuSeat, waiting: WaitingPod, rules: Rules): boolean {
  const free = rules.free.get(seat.node.metadata.name);
  if (!free || shortageOf(free, waiting.requests) !== undefined) return false;
  take(free, waiting.requests);
  seat.pods += 1;
  seat.freeBytes -= waiting.memoryBytes;
  return true;
}

const largestWithin = (sizes: readonly number[], free: number): number =>
  sizes.findLast((size) => size <= free) ?? 0;

const firstOfEach = <T>(all: readonly T[], keyOf: (one: T) => string): readonly T[] => [
  ...new Map(all.toReversed().map((one) => [keyOf(one), one])).values(),
];

function groupBy(all: readonly GpuSeat[], keyOf: (one: GpuSeat) => string): SeatKind[] {
  const groups = new Map<string, SeatKind>();
  for (const one of all) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group) group.seats.push(one);
    else groups.set(key, { key, seats: [one] });
  }
  return [...groups.values()];
}
