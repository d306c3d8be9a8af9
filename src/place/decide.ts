import { type KeptPlace, placeKept } from "./kept.ts";
import { type Losing, type Movable, type Move, type MoveRules, movesIn } from "./moves.ts";
import { placeInRounds } from "./rounds.ts";
import type { Gpu, Job, Placement, Rules } from "./state.ts";

export interface DecisionInput<G extends Gpu, J extends Job, M extends Movable<J>> {
  readonly waiting: readonly J[];
  readonly movable: readonly M[];
  /** They change as if the placements were there. */
  readonly open: readonly G[];
  readonly served: ReadonlyMap<string, G>;
  readonly kept: readonly KeptPlace[];
  readonly rules: Rules<G, J>;
  readonly moves: MoveRules;
}

export interface Decision<G extends Gpu, J extends Job, M extends Movable<J>> {
  readonly placed: readonly Placement<G, J>[];
  readonly moves: readonly Move<G, J, M>[];
  readonly losing: Losing;
}

/** It is pure but for `open` and what `rules.take` takes. */
export function decide<G extends Gpu, J extends Job, M extends Movable<J>>(
  input: DecisionInput<G, J, M>,
): Decision<G, J, M> {
  const { waiting, movable, open, served, kept: keptPlaces, rules, moves } = input;
  const kept = placeKept(waiting, open, keptPlaces, rules);
  const placed = [...kept.placed, ...placeInRounds(kept.rest, open, rules)];
  const matched = new Set(placed.map(({ gpu }) => gpu.uuid));
  return { placed, ...movesIn(moves, movable, open, served, matched, rules) };
}
