// Each neighbour's part of a colocation's cost is estimated from the pairs without this colocation,
// as in expectation maximisation. The process learns from the parts as if they were pairs.
import { costOf, crowdingOf, retainedOf } from "../data/several.ts";
import { leftOutValues, type Prepared, type Target, type Tuned } from "./burdens.ts";
import { fromScale } from "./link.ts";

const ROUNDS = 2;
const BASIS = 48;
/** No neighbour is held to cost nothing. */
const MIN_COST = 0.02;

export const haveSeveral = ({ targets }: Pick<Prepared, "targets">): boolean =>
  targets.some(({ count }) => count > 1);

export interface Shared {
  readonly prepared: Prepared;
  readonly tuned: Tuned;
}

export function shareCosts(prepared: Prepared, tuned: Tuned): Shared {
  let shared = { prepared, tuned };
  if (haveSeveral(prepared))
    for (let round = 0; round < ROUNDS; round++) shared = shareOnce(shared);
  return shared;
}

function shareOnce({ prepared, tuned }: Shared): Shared {
  const { softness, exponent } = tuned;
  const values = leftOutValues(prepared, tuned, BASIS);
  const costs = values.map((value) =>
    Math.max(MIN_COST, costOf(fromScale(value, softness), exponent)),
  );
  const crowding = crowdingFrom(prepared.targets, costs, exponent);
  const retained = prepared.retained.slice();
  for (const { from, count, retained: whole } of prepared.targets) {
    if (count === 1) continue;
    const scale =
      costOf(whole, exponent) /
      crowdingOf(count, { exponent, crowding }) /
      sumOf(costs, from, count);
    for (let i = from; i < from + count; i++)
      retained[i] = retainedOf(scale * (costs[i] as number), exponent);
  }
  return { prepared: { ...prepared, retained }, tuned: { ...tuned, crowding } };
}

/** The factor 1 counts as this many targets of each size. */
const PRIOR_TARGETS = 10;

function crowdingFrom(
  targets: readonly Target[],
  costs: Float64Array,
  exponent: number,
): readonly number[] {
  const largest = Math.max(...targets.map(({ count }) => count));
  const found = [1];
  for (let neighbours = 2; neighbours <= largest; neighbours++) {
    const own = targets.filter(({ count }) => count === neighbours);
    const expected = own.reduce((sum, { from, count }) => sum + sumOf(costs, from, count), 0);
    const measured = own.reduce((sum, { retained }) => sum + costOf(retained, exponent), 0);
    const prior = own.length === 0 ? 0 : (PRIOR_TARGETS * expected) / own.length;
    const usual = found.at(-1) ?? 1;
    found.push(own.length === 0 ? usual : (measured + prior * usual) / (expected + prior));
  }
  return targets.some(({ count }) => count === 1) ? found : [1];
}

function sumOf(values: Float64Array, from: number, count: number): number {
  let sum = 0;
  for (let i = from; i < from + count; i++) sum += values[i] as number;
  return sum;
}
