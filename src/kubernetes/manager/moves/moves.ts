// Which running pods are evicted so that their next pods begin on other GPUs, where they are expected to retain more.
//
// A pod is moved when what it has lost by staying is as much as the move costs: the rule for renting or buying of Karlin,
// Manasse, Rudolph and Sleator (1988), which never costs more than twice of what was best in hindsight. As in Gandiva (Xiao et
// al., 2018) what a job was measured to get decides rather than what was forecast, and an attempt that was no good is
// remembered. Other than in MuxFlow (2023), which matches all jobs again in each round, a restart has its price.
//
// Moves end where nothing changes: each raises the sum of what all pods are expected to retain by `leastGain`, and a
// service that was tried is known by what was measured there.
import { type Micros, parseDuration } from "#core";
import { GPU_ANNOTATION, MATCHED_AT_ANNOTATION, MOVE_COST_ANNOTATION } from "../../labels/names.ts";
import { occupy, type Rules, worth } from "../matching/rounds.ts";
import type { WaitingPod } from "../matching/waiting.ts";
import type { Claim, Pod } from "../state/objects.ts";
import { claimKeyIn, isBestEffort, keyOf } from "../state/pods.ts";
import { claimsByGpu, type GpuSeat } from "../state/seats.ts";
import type { ClusterSnapshot, Losing, Loss } from "../state/snapshot.ts";
import { ratios } from "../state/tried.ts";

/** A pod that runs and may be moved. */
export interface MovablePod {
  /** As its controller will make it again. */
  readonly again: WaitingPod;
  readonly pod: Pod;
  readonly claim: Claim;
  /** Work that a move costs it, in seconds of its own speed where it is. */
  readonly costSeconds: number;
}

export interface Move {
  readonly kind: "move";
  readonly pod: Pod;
  /** Where it is to begin again. */
  readonly node: string;
  readonly gpu: string;
  readonly memoryBytes: number;
  /** The GPU that it leaves. */
  readonly from: string;
  /** Retained throughput, measured here and expected there. */
  readonly retained: { readonly here: number; readonly there: number };
}

/** Without a sample for so many intervals, nothing is known of the time between. */
const MAX_INTERVALS = 3;

/** undefined: the pod does not say that it may be moved, or it can't be read. */
export function moveCostSeconds({ metadata: { annotations } }: Pod): number | undefined {
  const text = annotations?.[MOVE_COST_ANNOTATION] ?? "";
  // The texts that deploy/kubernetes/admission.yaml lets through: an annotation may be changed later.
  if (!/^[1-9]\d{0,5}(s|min|h)$/.test(text)) return undefined;
  const cost: Micros = parseDuration(text);
  return cost / 1e6;
}

/**
 * `seats`: GPUs with a place, after waiting pods were matched; `served`: all GPUs of services, by UUID. `matched`: the GPUs
 * that got pods just now, which are let alone. Each GPU takes part in at most one move. Changes `seats` and what is free.
 */
export function movesIn(
  seen: ClusterSnapshot,
  movable: readonly MovablePod[],
  seats: readonly GpuSeat[],
  served: ReadonlyMap<string, GpuSeat>,
  matched: ReadonlySet<string>,
  rules: Rules,
): { readonly moves: readonly Move[]; readonly losing: Losing } {
  const losing = new Map<string, Loss>();
  if (movable.length === 0) return { moves: [], losing };
  const { moveAfterSeconds, intervalSeconds } = seen.policy;
  const find = finder(seen, seats, served, new Set(matched), rules);
  const due: { readonly one: MovablePod; readonly gain: number }[] = [];
  for (const one of movable) {
    const better = find.better(one);
    if (better === undefined) continue;
    const { uid } = one.pod.metadata;
    const before = seen.losing.get(uid);
    const seconds = (seen.now - (before?.at ?? Number.NEGATIVE_INFINITY)) / 1000;
    const lost =
      before && seconds <= MAX_INTERVALS * intervalSeconds
        ? before.seconds + seconds * better.gain
        : 0;
    losing.set(uid, { at: seen.now, seconds: lost });
    const since = Date.parse(one.claim.metadata.annotations?.[MATCHED_AT_ANNOTATION] ?? "");
    const isSettled = seen.wallNow - since >= 1000 * moveAfterSeconds;
    if (isSettled && before && lost >= one.costSeconds * better.here)
      due.push({ one, gain: better.gain });
  }
  const moves: Move[] = [];
  for (const { one } of due.sort((a, b) => b.gain - a.gain)) {
    // An earlier one may have taken the place.
    const better = find.better(one);
    if (better === undefined) continue;
    if (!occupy(better.seat, one.again, rules)) continue;
    const from = gpuOf(one.claim);
    find.close(from, better.seat.uuid);
    moves.push({
      ...{ kind: "move", pod: one.pod, memoryBytes: one.again.memoryBytes, from },
      ...{ node: better.seat.node.metadata.name, gpu: better.seat.uuid },
      retained: { here: better.here, there: better.there },
    });
  }
  return { moves, losing };
}

interface Better {
  readonly seat: GpuSeat;
  readonly here: number;
  readonly there: number;
  /** Gain in retained throughput: of the pod itself or of all pods on both GPUs together, whichever is less. */
  readonly gain: number;
}

/** GPUs that are alike to all pods. */
interface SeatKind {
  readonly seats: readonly GpuSeat[];
  readonly first: GpuSeat;
  /** The least that the pods of one of them retain together. */
  readonly leastSum: number;
}

interface Choice {
  readonly kind: SeatKind;
  /** The first of its GPUs that the pods may run on. */
  readonly seat: GpuSeat;
  /** On the first of its GPUs. */
  readonly forecast: number;
}

/** Active shares are rounded up to this where GPUs are compared. */
const SHARE_STEP = 0.05;

function finder(
  seen: ClusterSnapshot,
  seats: readonly GpuSeat[],
  served: ReadonlyMap<string, GpuSeat>,
  closed: Set<string>,
  rules: Rules,
) {
  const retained = retainedNow(seen, served);
  const sumOn = ({ uuid }: GpuSeat) => retained.sums.get(uuid) ?? 0;
  const kinds = kindsOf(
    seats.filter(({ uuid, pods, slots }) => !closed.has(uuid) && pods < slots),
    sumOn,
  );
  /** Where pods that are alike may run, what is expected most first. */
  const choices = new Map<string, readonly Choice[]>();
  const fits = (seat: GpuSeat, { again }: MovablePod) =>
    !closed.has(seat.uuid) && seat.pods < seat.slots && worth(seat, again, rules) > 0;
  const choicesOf = (one: MovablePod): readonly Choice[] => {
    const { constraints, memoryBytes, profile } = one.again;
    const key = `${constraints}\n${memoryBytes}\n${profile?.key}`;
    let known = choices.get(key);
    if (known === undefined) {
      known = kinds
        .flatMap((kind): readonly Choice[] => {
          const seat = kind.seats.find((each) => fits(each, one));
          const forecast = seat && rules.forecast(kind.first, one.again)?.retained;
          return seat && forecast !== undefined ? [{ kind, seat, forecast }] : [];
        })
        .sort((x, y) => y.forecast - x.forecast);
      choices.set(key, known);
    }
    return known;
  };
  return {
    /** The move with the largest gain; undefined where none has `leastGain`. */
    better(one: MovablePod): Better | undefined {
      const { leastGain } = seen.policy;
      const from = served.get(gpuOf(one.claim));
      const here = retained.of(one.pod);
      if (from === undefined || closed.has(from.uuid) || here === undefined) return undefined;
      if (here + leastGain > 1) return undefined;
      const others = from.pods - 1;
      const relief = others > 0 ? (sumOn(from) - here) / others : 0;
      const gainOf = (there: number, sum: number, pods: number) =>
        there - here + Math.min(0, relief - sum / (pods + 1));
      const { ratio } = one.again;
      let best: Better | undefined;
      for (const { kind, seat: known, forecast } of choicesOf(one)) {
        const least = Math.max(leastGain, best?.gain ?? 0);
        const most = (factor: number) => Math.min(1, (forecast + SHARE_STEP) * factor);
        if (most(ratio.most) - here < least) break;
        const { first, leastSum } = kind;
        if (gainOf(most(ratio.of(first.beside)), leastSum, first.pods) < least) continue;
        const seat = fits(known, one) ? known : kind.seats.find((each) => fits(each, one));
        const expected = seat && rules.forecast(seat, one.again)?.retained;
        if (seat === undefined || expected === undefined) continue;
        const there = Math.min(1, expected * ratio.of(seat.beside));
        const gain = gainOf(there, sumOn(seat), seat.pods);
        if (gain >= leastGain && gain > (best?.gain ?? 0)) best = { seat, here, there, gain };
      }
      return best;
    },
    /** These GPUs take part in no other move. */
    close(...uuids: readonly string[]): void {
      for (const uuid of uuids) closed.add(uuid);
    },
  };
}

const gpuOf = ({ metadata }: Claim): string => metadata.annotations?.[GPU_ANNOTATION] ?? "";

/** Retained throughput of each pod with a part of a GPU: as measured, else as expected. `sums`: totals of each GPU. */
function retainedNow(
  { pods, claims, pairings, forecasts, trials }: ClusterSnapshot,
  served: ReadonlyMap<string, GpuSeat>,
) {
  const byClaim = new Map<string, Pod>();
  for (const pod of pods) if (isBestEffort(pod)) byClaim.set(claimKeyIn(pod), pod);
  const measured = new Map<string, number | undefined>();
  for (const one of pairings) measured.set(keyOf(one), one.status?.measured?.retained);
  const sums = new Map<string, number>();
  const byPod = new Map<Pod, number>();
  for (const [uuid, there] of claimsByGpu(claims)) {
    const seat = served.get(uuid);
    if (seat === undefined) continue;
    let sum = 0;
    for (const claim of there) {
      const pod = byClaim.get(keyOf(claim));
      if (pod === undefined) continue;
      const profile = forecasts.profileOf(pod);
      const retained =
        measured.get(keyOf(claim)) ??
        forecasts.of(seat.service, profile, seat, there.length - 1).retained *
          ratios(trials(pod), forecasts).of(seat.beside);
      byPod.set(pod, retained);
      sum += retained;
    }
    sums.set(uuid, sum);
  }
  return { sums, of: (pod: Pod) => byPod.get(pod) };
}

function kindsOf(seats: readonly GpuSeat[], sumOn: (seat: GpuSeat) => number): readonly SeatKind[] {
  const kinds = new Map<string, GpuSeat[]>();
  for (const seat of seats) {
    const key = [
      ...[seat.model, seat.service?.key ?? "", seat.beside, seat.pods],
      Math.ceil(seat.activeShare / SHARE_STEP),
    ].join("\n");
    const alike = kinds.get(key);
    if (alike) alike.push(seat);
    else kinds.set(key, [seat]);
  }
  return [...kinds.values()].flatMap((alike) => {
    const [first] = alike;
    return first ? [{ seats: alike, first, leastSum: Math.min(...alike.map(sumOn)) }] : [];
  });
}
