// Ranks the candidates to run concurrently with a workload.
import { type Features, type Prediction, type Predictor, soloOf } from "#predict";
import { noCandidates } from "./errors.ts";
import type { Goal } from "./scores.ts";

export interface Workload {
  readonly name: string;
  readonly features: Features;
}

export interface Ranked {
  readonly candidate: string;
  /** The score of the whole colocation, according to the goal. */
  readonly score: number;
  readonly clients: readonly (Prediction & { readonly name: string })[];
  readonly familiar: boolean;
}

/** The best candidate comes first. Equal ones keep their order. `neighbours`: what runs concurrently with the target already. */
export function rank(
  predictor: Predictor,
  target: Workload,
  candidates: readonly Workload[],
  goal: Goal,
  neighbours: readonly Workload[] = [],
): readonly Ranked[] {
  if (candidates.length === 0) throw noCandidates(target.name);
  return candidates
    .map((candidate): Ranked => {
      const all = [target, ...neighbours, candidate];
      const clients = all.map(({ name, features }, i) => ({
        name,
        ...predictor.predict(
          features,
          all.filter((_, k) => k !== i).map((other) => other.features),
        ),
      }));
      const score = clients.reduce(
        (sum, { retained }, i) =>
          sum + retained * (goal === "throughput" ? soloOf(all[i]?.features ?? {}) : 1),
        0,
      );
      const familiar = clients.every((client) => client.familiar);
      return { candidate: candidate.name, score, clients, familiar };
    })
    .sort((a, b) => b.score - a.score);
}
