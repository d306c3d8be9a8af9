import type { Memory } from "#policy";
import type { ServedGpu } from "../gpus/gpu.ts";
import type { HighStatus } from "../status/status.ts";

/** A training may have a throughput and no burst. `id`: as Units.referenceIdOf returns it. */
export function aloneIn(memory: Memory | undefined, id: string | undefined): HighStatus["alone"] {
  const { reference, gaps } = (id !== undefined && memory?.clients.get(id)) || {};
  if (gaps) return undefined;
  const { p99Us, waitedP99Us } = reference ?? {};
  const known = Number.isFinite(p99Us) && Number.isFinite(waitedP99Us);
  return known && p99Us !== undefined && waitedP99Us !== undefined
    ? { p99Us, waitedP99Us }
    : undefined;
}

export const clientPids = (gpus: readonly ServedGpu[]): ReadonlySet<number> =>
  new Set(gpus.flatMap(({ clients }) => clients.map(({ pid }) => pid)));
