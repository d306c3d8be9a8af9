import type { History } from "../history/history.ts";
import type { Burst } from "../history/worst-bursts.ts";
import type { Status } from "../status/status.ts";
import { causeOf } from "./burst-cause.ts";
import type { Problem } from "./problem.ts";

export interface SlowBurst extends Problem {
  readonly lastedUs: number;
  readonly waitedUs: number;
}

export function watchSlowBursts(
  history: History,
  status: () => Status,
  most: number,
): () => readonly SlowBurst[] {
  let seen: readonly { readonly uuid: string; readonly burst: Burst }[] = [];
  const end = history.listen((uuid, burst) => {
    seen = [...seen, { uuid, burst }]
      .sort((a, b) => b.burst.lastedUs - a.burst.lastedUs)
      .slice(0, most);
  });
  return () => {
    end();
    const { gpus } = status();
    return seen.flatMap(({ uuid, burst }) => {
      const gpu = gpus.find((one) => one.uuid === uuid);
      const { lastedUs, waitedUs } = burst;
      return gpu ? [{ lastedUs, waitedUs, ...causeOf(burst, gpu) }] : [];
    });
  };
}
