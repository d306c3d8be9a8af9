// Writes are limited, so that Cotenant does not keep a cluster busy in which much happens at once.
import { setTimeout as wait } from "node:timers/promises";
import type { Api } from "./client.ts";

const BURST_MS = 1000;

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
