import { readTotal } from "#core";
import { prefixCaches } from "#engines";

/** Both are in tokens since the engine started. */
export interface CacheCounters {
  readonly hits: number;
  readonly queries: number;
}

/** Other requests that the engine served meanwhile count, too. */
export interface PrefixCache extends CacheCounters {
  readonly hitRate: number;
}

export function readCacheCounters(text: string): CacheCounters | undefined {
  for (const { hits, queries, from } of prefixCaches) {
    const queried = readTotal(text, queries);
    const hit =
      readTotal(text, hits) ?? (from && readTotal(text, [from]) !== undefined ? 0 : undefined);
    if (queried !== undefined && hit !== undefined) return { hits: hit, queries: queried };
  }
  return undefined;
}

/** undefined without both, if no prompt was read, or if the engine was started again. */
export function prefixCacheOf(
  before: CacheCounters | undefined,
  after: CacheCounters | undefined,
): PrefixCache | undefined {
  if (!before || !after) return undefined;
  const hits = after.hits - before.hits;
  const queries = after.queries - before.queries;
  return hits >= 0 && queries > 0 ? { hits, queries, hitRate: hits / queries } : undefined;
}
