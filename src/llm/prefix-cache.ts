// Which part of the prompts an engine took from its cache of prefixes, as its own counters say.
import { readTotal } from "#core";
import { prefixCaches } from "#engines";

/** Counters of an engine since it started, in tokens. */
export interface CacheCounters {
  readonly hits: number;
  readonly queries: number;
}

/** Over a run, of all requests that the engine served meanwhile. */
export interface PrefixCache extends CacheCounters {
  /** hits / queries. */
  readonly hitRate: number;
}

/** `text`: an answer of an engine's /metrics; undefined if it does not tell. */
export function readCacheCounters(text: string): CacheCounters | undefined {
  for (const { hits, queries, from } of prefixCaches) {
    const queried = readTotal(text, queries);
    const hit =
      readTotal(text, hits) ?? (from && readTotal(text, [from]) !== undefined ? 0 : undefined);
    if (queried !== undefined && hit !== undefined) return { hits: hit, queries: queried };
  }
  return undefined;
}

/** undefined if one of them is, if no prompt was read, or if the engine was started again. */
export function prefixCacheOf(
  before: CacheCounters | undefined,
  after: CacheCounters | undefined,
): PrefixCache | undefined {
  if (!before || !after) return undefined;
  const hits = after.hits - before.hits;
  const queries = after.queries - before.queries;
  return hits >= 0 && queries > 0 ? { hits, queries, hitRate: hits / queries } : undefined;
}
