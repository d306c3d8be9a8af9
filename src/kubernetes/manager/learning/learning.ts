import type { Api } from "../../api/client.ts";
import type { PairRow } from "../../labels/pair.ts";
import type { ClusterSnapshot } from "../state/snapshot.ts";
import type { PairLearner } from "./learner.ts";
import { emptyRecord, type MatchCounts, readRecord, readRows, writeRecord } from "./record.ts";

export class Learning {
  readonly #api: Api;
  readonly #learner: PairLearner;
  #isRead = false;
  #counts: { matches: number; explored: number } = { ...emptyRecord };

  constructor(api: Api, learner: PairLearner) {
    this.#api = api;
    this.#learner = learner;
  }

  get hasStarted(): boolean {
    return this.#isRead;
  }

  /** Trains before anything is decided. Rejects on a refusal; then it is read the next time. */
  async start(seen: ClusterSnapshot, monotonic: () => number): Promise<number | undefined> {
    const { learned, matches, explored } = await readRecord(this.#api);
    await readRows(this.#api, this.#learner);
    this.#learner.recall(learned);
    this.#counts = { matches, explored };
    this.#isRead = true;
    return this.train([], seen, monotonic);
  }

  reset(): void {
    this.#isRead = false;
  }

  get counts(): MatchCounts {
    return this.#counts;
  }

  matched(isExploration: boolean): void {
    this.#counts.matches++;
    if (isExploration) this.#counts.explored++;
  }

  /** Resolves to the ms that training took; undefined: it was not time. Rejects on a refusal. */
  async train(
    rows: Iterable<PairRow>,
    { policy, wallNow }: ClusterSnapshot,
    monotonic: () => number,
  ): Promise<number | undefined> {
    this.#learner.add(rows);
    const began = monotonic();
    if (!this.#isRead || !this.#learner.trainIfDue(began, wallNow, policy.mostSlowdown))
      return undefined;
    const took = monotonic() - began;
    await writeRecord(this.#api, { ...this.#counts, learned: this.#learner.summaries });
    return took;
  }
}
