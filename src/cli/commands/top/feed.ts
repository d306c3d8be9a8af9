// After a restart of the agent it is found again.
import { setTimeout as pause } from "node:timers/promises";
import { ownAgentHere, readLive } from "#client";
import { UserError } from "#core";
import { SeriesStore, type Snapshot, type TimelineView, type WorstView } from "#dashboard";
import type { Model } from "./model.ts";

const AGAIN_AFTER_MS = 1000;

export class TopFeed {
  readonly #series = new SeriesStore();
  #snapshot: Snapshot | undefined;
  #worst: readonly WorstView[] = [];
  #lost: string | undefined;

  /** `news` is called for each snapshot, and when the agent has gone. */
  async follow(news: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#read(news, signal);
        this.#lost = "The agent has stopped.";
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        this.#lost = error.message;
      }
      news();
      await pause(AGAIN_AFTER_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Throws a UserError if there is no snapshot. */
  async once(): Promise<void> {
    const enough = new AbortController();
    await this.#read(() => enough.abort(), enough.signal);
  }

  #read(news: () => void, signal: AbortSignal): Promise<void> {
    const { agent } = ownAgentHere();
    const handlers = {
      timeline: (timelines: readonly TimelineView[]) => this.#series.take(timelines),
      worst: (worst: readonly WorstView[]) => {
        this.#worst = worst;
      },
      snapshot: (snapshot: Snapshot) => {
        this.#snapshot = snapshot;
        for (const gpu of snapshot.gpus) this.#series.takeLatest(gpu);
        this.#lost = undefined;
        news();
      },
    };
    return readLive(agent, handlers, signal);
  }

  /** It is undefined before the first snapshot. */
  model(now: number): Model | undefined {
    const snapshot = this.#snapshot;
    if (!snapshot) return undefined;
    const timelines = snapshot.gpus.flatMap(({ uuid }) => this.#series.of(uuid) ?? []);
    return {
      snapshot,
      timelines: new Map(timelines.map((one) => [one.uuid, one])),
      worst: this.#worst,
      lost: this.#lost,
      now,
    };
  }
}
