import { expect, test } from "vitest";
import type { History } from "../history/history.ts";
import type { Burst } from "../history/worst-bursts.ts";
import type { Status } from "../status/status.ts";
import { watchSlowBursts } from "./slow-bursts.ts";

test("the longest bursts of a watched time come first, each with its cause, and no later ones", () => {
  const listeners = new Set<(gpu: string, burst: Burst) => void>();
  const listen: History["listen"] = (one) => {
    listeners.add(one);
    return () => listeners.delete(one);
  };
  const there = { gpus: [{ uuid: "GPU-a", bestEffort: [] }] } as unknown as Status;
  const ended = (lastedUs: number, aheadUs: number, gpu = "GPU-a") => {
    const burst = { at: 0, lastedUs, waitedUs: lastedUs / 2, aheadUs, aheadSlot: 0 };
    for (const one of listeners) one(gpu, { ...burst, beside: false, step: false });
  };
  const end = watchSlowBursts({ listen } as History, () => there, 2);
  for (const us of [1000, 3000, 2000]) ended(us, us === 3000 ? 900 : 0);
  ended(500, 0);
  const seen = end();
  expect(seen.map(({ lastedUs, waitedUs }) => [lastedUs, waitedUs])).toEqual([
    [3000, 1500],
    [2000, 1000],
  ]);
  expect(seen[0]?.cause).toContain("900 us");
  expect(seen[1]?.cause).not.toContain("900 us");
  expect(listeners.size).toBe(0);
});
