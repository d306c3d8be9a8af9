// Runs one suite that computes and two that wait at a time, and preparations in the background.
import { EventEmitter, once } from "node:events";
import type { Preparation, Suite } from "./suites.ts";

/** The state by which `next` decides. */
interface State {
  readonly running: readonly Suite[];
  readonly prepared: ReadonlySet<Preparation>;
}

/**
 * The suite of `left` that a lane begins next; undefined: none can begin now.
 *
 * @param waiting the lane's own kind comes first: suites that wait, or suites that compute
 */
export function next(left: readonly Suite[], waiting: boolean, state: State): Suite | undefined {
  const possible = left.filter(
    ({ needs = [], alone }) =>
      needs.every((one) => state.prepared.has(one)) &&
      !(alone && state.running.some((other) => other.alone === alone)),
  );
  return possible.find(({ waits = false }) => waits === waiting) ?? possible[0];
}

/**
 * Runs all suites in three lanes, each of which takes from the other kind when its own is done.
 *
 * @param prepare makes one preparation; whether it succeeded, the suites that need it find out
 */
export async function runAll(
  suites: readonly Suite[],
  run: (suite: Suite) => Promise<void>,
  prepare: (preparation: Preparation) => Promise<void>,
  preparations: readonly Preparation[],
): Promise<void> {
  const left = [...suites];
  const running: Suite[] = [];
  const prepared = new Set<Preparation>();
  const events = new EventEmitter();

  async function lane(waiting: boolean): Promise<void> {
    while (left.length > 0) {
      const suite = next(left, waiting, { running, prepared });
      if (!suite) {
        await once(events, "ended");
        continue;
      }
      left.splice(left.indexOf(suite), 1);
      running.push(suite);
      await run(suite);
      running.splice(running.indexOf(suite), 1);
      events.emit("ended");
    }
  }

  async function background(): Promise<void> {
    for (const preparation of preparations) {
      await prepare(preparation);
      prepared.add(preparation);
      events.emit("ended");
    }
  }

  await Promise.all([lane(false), lane(true), lane(true), background()]);
}
