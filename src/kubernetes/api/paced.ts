// Limits a program's writes, so that a cluster in which much happens at once is not kept busy by Cotenant.
import { setTimeout as wait } from "node:timers/promises";
import type { Api } from "./client.ts";

/** After a pause this much of its rate may be written at once, ms. */
const BURST_MS = 1000;

/** The same API with at most so many writes a second, in the order in which they are asked for. `count` is called with each. */
export function paced(api: Api, perSecond: number, count: () => unknown): Api {
  const eachMs = 1000 / perSecond;
  let nextAt = Number.NEGATIVE_INFINITY;
  const turn = async (): Promise<void> => {
    const now = performance.now();
    nextAt = Math.max(nextAt, now - BURST_MS) + eachMs;
    if (nextAt > now) await wait(nextAt - now);
    count();
  };
  const pacedWrite =
    <A extends readonly unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await turn();
      return await write(...args);
    };
  const { create, replace, patch, merge, mergePlain, apply, remove } = api;
  return {
    ...api,
    create: pacedWrite(create),
    replace: pacedWrite(replace),
    patch: pacedWrite(patch),
    merge: pacedWrite(merge),
    mergePlain: pacedWrite(mergePlain),
    apply: pacedWrite(apply),
    remove: pacedWrite(remove),
  } as Api;
}
