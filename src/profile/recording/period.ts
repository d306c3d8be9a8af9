export interface Period {
  readonly length: number;
  readonly starts: readonly number[];
}

const MIN_TIMES = 3;
const MIN_PART = 1 / 4;
/** A shorter period is preferred if it covers at least this part of the best one's steps. */
const NEARLY = 0.9;

interface Stretch {
  readonly length: number;
  readonly begin: number;
  readonly covers: number;
}

/**
 * For each distance the longest stretch is found in which each step equals the one at that
 * distance; the shortest distance wins that covers nearly as much as any. So a layer that repeats
 * within an iteration is not taken for one. `may` tests a period.
 */
export function findPeriod(
  steps: Int32Array,
  may: (begin: number, length: number) => boolean = () => true,
): Period | undefined {
  const frontier: Stretch[] = [];
  let most = Math.max(steps.length * MIN_PART, MIN_TIMES) - 1;
  for (let length = 1; length * MIN_TIMES <= steps.length; length++) {
    const stretch = longest(steps, length);
    if (stretch.covers <= most || stretch.covers < length * MIN_TIMES) continue;
    if (!may(stretch.begin, length)) continue;
    most = stretch.covers;
    frontier.push(stretch);
  }
  const found = frontier.find(({ covers }) => covers >= most * NEARLY);
  return found && { length: found.length, starts: startsFrom(found, found.begin) };
}

function longest(steps: Int32Array, length: number): Stretch {
  let [begin, best, from] = [0, 0, 0];
  for (let i = 0; i + length < steps.length; i++) {
    if (steps[i] !== steps[i + length]) from = i + 1;
    else if (i + 1 - from > best) {
      best = i + 1 - from;
      begin = from;
    }
  }
  return { length, begin, covers: best === 0 ? 0 : best + length };
}

const startsFrom = ({ begin, covers, length }: Stretch, first: number): number[] =>
  Array.from(
    { length: Math.floor((begin + covers - first) / length) },
    (_, i) => first + i * length,
  );

export const later = ({ length, starts }: Period, by: number): Period => ({
  length,
  starts: by === 0 ? starts : starts.slice(0, -1).map((start) => start + by),
});
