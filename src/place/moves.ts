// A job is moved when it has lost as much by staying as the move costs: the rule for renting or
// buying of Karlin, Manasse, Rudolph and Sleator (1988), which never costs more than twice of what
// was best in hindsight. As in Gandiva (Xiao et al., 2018) the measurement of a job decides rather
// than its forecast. Unlike in MuxFlow (2023), which matches all jobs in each round, a restart has
// its price. Moves end: each raises the sum of retained throughput by `leastGain`, and a service
// that was tried is known by its measurement.
import { expectedOn, type Gpu, type Job, occupy, type Rules } from "./state.ts";

export interface Movable<J extends Job> {
  readonly again: J;
  readonly id: string;
  readonly from: string;
  /** Work that a move costs it, in seconds of its own speed where it is. */
  readonly costSeconds: number;
  readonly forSeconds: number;
  readonly retained: number;
  readonly worth: number;
}

export interface Move<G extends Gpu, J extends Job, M extends Movable<J> = Movable<J>> {
  readonly one: M;
  readonly to: G;
  readonly there: number;
}

/** Losses count from when it was known that the job would retain more elsewhere. */
export type Losing = ReadonlyMap<string, Loss>;

interface Loss {
  /** It is in ms: this was known last then. */
  readonly at: number;
  /** They are seconds of a job that has a GPU alone. */
  readonly seconds: number;
}

export interface MoveRules {
  /** It is in ms, of the clock of `losing`. */
  readonly now: number;
  readonly intervalSeconds: number;
  readonly moveAfterSeconds: number;
  readonly leastGain: number;
  readonly losing: Losing;
  sumOn(uuid: string): number;
}

const MAX_INTERVALS = 3;

/**
 * `open`: GPUs with a slot after the matching; `matched` ones are let alone. Each GPU takes part in
 * one move at most. Changes `open` and the nodes of `rules`.
 */
export function movesIn<G extends Gpu, J extends Job, M extends Movable<J>>(
  moving: MoveRules,
  movable: readonly M[],
  open: readonly G[],
  served: ReadonlyMap<string, G>,
  matched: ReadonlySet<string>,
  rules: Rules<G, J>,
): { readonly moves: readonly Move<G, J, M>[]; readonly losing: Losing } {
  const losing = new Map<string, Loss>();
  if (movable.length === 0) return { moves: [], losing };
  const { now, moveAfterSeconds, intervalSeconds } = moving;
  const find = finder(moving, open, served, new Set(matched), rules);
  const due: { readonly one: M; readonly gain: number }[] = [];
  for (const one of movable) {
    const better = find.better(one);
    if (better === undefined) continue;
    const before = moving.losing.get(one.id);
    const seconds = (now - (before?.at ?? Number.NEGATIVE_INFINITY)) / 1000;
    const lost =
      before && seconds <= MAX_INTERVALS * intervalSeconds
        ? before.seconds + seconds * better.gain
        : 0;
    losing.set(one.id, { at: now, seconds: lost });
    const isSettled = one.forSeconds >= moveAfterSeconds;
    if (isSettled && before && lost >= one.costSeconds * one.worth)
      due.push({ one, gain: better.gain });
  }
  const moves: Move<G, J, M>[] = [];
  for (const { one } of due.sort((a, b) => b.gain - a.gain)) {
    // An earlier one may have taken the slot.
    const better = find.better(one);
    if (better === undefined || !occupy(better.gpu, one.again, rules)) continue;
    find.close(one.from, better.gpu.uuid);
    moves.push({ one, to: better.gpu, there: better.there });
  }
  return { moves, losing };
}

interface Better<G> {
  readonly gpu: G;
  readonly there: number;
  /** It is in worth: of the job or of all jobs on both GPUs, whichever is less. */
  readonly gain: number;
}

interface GpuKind<G> {
  readonly gpus: readonly G[];
  readonly first: G;
  readonly leastSum: number;
}

interface Choice<G> {
  readonly kind: GpuKind<G>;
  readonly gpu: G;
  readonly worth: number;
}

/** GPUs are compared with active shares rounded up to this. */
const SHARE_STEP = 0.05;

function finder<G extends Gpu, J extends Job>(
  { leastGain, sumOn }: MoveRules,
  open: readonly G[],
  served: ReadonlyMap<string, G>,
  closed: Set<string>,
  rules: Rules<G, J>,
) {
  const kinds = kindsOf(
    open.filter(({ uuid, pods, slots }) => !closed.has(uuid) && pods < slots),
    sumOn,
  );
  const choices = new Map<string, readonly Choice<G>[]>();
  const fits = (gpu: G, { again }: Movable<J>) =>
    !closed.has(gpu.uuid) && gpu.pods < gpu.slots && expectedOn(gpu, again, rules) !== undefined;
  const choicesOf = (one: Movable<J>): readonly Choice<G>[] => {
    const { constraints, memoryBytes, jobKind } = one.again;
    const key = `${constraints}\n${memoryBytes}\n${jobKind}`;
    let known = choices.get(key);
    if (known === undefined) {
      known = kinds
        .flatMap((kind): readonly Choice<G>[] => {
          const gpu = kind.gpus.find((each) => fits(each, one));
          const worth = gpu && rules.forecast(kind.first, one.again)?.worth;
          return gpu && worth !== undefined ? [{ kind, gpu, worth }] : [];
        })
        .sort((x, y) => y.worth - x.worth);
      choices.set(key, known);
    }
    return known;
  };
  return {
    better(one: Movable<J>): Better<G> | undefined {
      const from = served.get(one.from);
      const here = one.worth;
      if (from === undefined || closed.has(from.uuid)) return undefined;
      if (here + leastGain > 1) return undefined;
      const others = from.pods - 1;
      const relief = others > 0 ? (sumOn(from.uuid) - here) / others : 0;
      const gainOf = (there: number, sum: number, pods: number) =>
        there - here + Math.min(0, relief - sum / (pods + 1));
      const { ratio } = one.again;
      let best: Better<G> | undefined;
      for (const { kind, gpu: known, worth } of choicesOf(one)) {
        const least = Math.max(leastGain, best?.gain ?? 0);
        const most = (factor: number) => Math.min(1, (worth + SHARE_STEP) * factor);
        if (most(ratio.most) - here < least) break;
        const { first, leastSum } = kind;
        if (gainOf(most(ratio.of(first.beside)), leastSum, first.pods) < least) continue;
        const gpu = fits(known, one) ? known : kind.gpus.find((each) => fits(each, one));
        const expected = gpu && rules.forecast(gpu, one.again);
        if (gpu === undefined || expected === undefined) continue;
        const factor = ratio.of(gpu.beside);
        const gain = gainOf(Math.min(1, expected.worth * factor), sumOn(gpu.uuid), gpu.pods);
        const there = Math.min(1, expected.retained * factor);
        if (gain >= leastGain && gain > (best?.gain ?? 0)) best = { gpu, there, gain };
      }
      return best;
    },
    close(...uuids: readonly string[]): void {
      for (const uuid of uuids) closed.add(uuid);
    },
  };
}

function kindsOf<G extends Gpu>(
  open: readonly G[],
  sumOn: (uuid: string) => number,
): readonly GpuKind<G>[] {
  const kinds = new Map<string, G[]>();
  for (const gpu of open) {
    const key = [
      ...[gpu.model, gpu.serviceKind, gpu.beside, gpu.pods],
      Math.ceil(gpu.activeShare / SHARE_STEP),
    ].join("\n");
    const alike = kinds.get(key);
    if (alike) alike.push(gpu);
    else kinds.set(key, [gpu]);
  }
  return [...kinds.values()].flatMap((alike) => {
    const [first] = alike;
    const sums = alike.map(({ uuid }) => sumOn(uuid));
    return first ? [{ gpus: alike, first, leastSum: Math.min(...sums) }] : [];
  });
}
