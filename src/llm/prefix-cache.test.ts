import { describe, expect, test } from "vitest";
import { prefixCacheOf, readCacheCounters } from "./prefix-cache.ts";

describe("counters of the cache of prefixes", () => {
  test.each([
    [
      "vLLM",
      'vllm:prefix_cache_queries_total{engine="0"} 100.0\nvllm:prefix_cache_hits_total{engine="0"} 40.0\nvllm:external_prefix_cache_queries_total 7\n',
      { hits: 40, queries: 100 },
    ],
    [
      "vLLM with two engines",
      'vllm:prefix_cache_queries_total{engine="0"} 1\nvllm:prefix_cache_queries_total{engine="1"} 2\nvllm:prefix_cache_hits_total{engine="0"} 0\nvllm:prefix_cache_hits_total{engine="1"} 1\n',
      { hits: 1, queries: 3 },
    ],
    [
      "an older vLLM",
      "vllm:gpu_prefix_cache_queries_total 9\nvllm:gpu_prefix_cache_hits_total 2\n",
      { hits: 2, queries: 9 },
    ],
    [
      "SGLang",
      'sglang:prompt_tokens_total{is_streaming="true"} 50\nsglang:cached_tokens_total{cache_source="device"} 10\nsglang:cached_tokens_total{cache_source="host"} 5\nsglang:cache_hit_rate 0.3\n',
      { hits: 15, queries: 50 },
    ],
    [
      "SGLang before its first hit",
      "sglang:prompt_tokens_total 50\nsglang:cache_hit_rate 0\n",
      { hits: 0, queries: 50 },
    ],
    ["SGLang without the hits", "sglang:prompt_tokens_total 50\n", undefined],
    ["another server", "up 1\n", undefined],
  ])("of %s", (_, text, counters) => {
    expect(readCacheCounters(text)).toEqual(counters);
  });
});

describe("the hit rate over a run", () => {
  test("is of what was counted meanwhile", () => {
    const of = prefixCacheOf({ hits: 90, queries: 100 }, { hits: 92, queries: 200 });
    expect(of).toEqual({ hits: 2, queries: 100, hitRate: 0.02 });
  });

  test("is not known where nothing tells, nothing was read, or the engine began again", () => {
    const some = { hits: 90, queries: 100 };
    expect(prefixCacheOf(undefined, some)).toBeUndefined();
    expect(prefixCacheOf(some, undefined)).toBeUndefined();
    expect(prefixCacheOf(some, some)).toBeUndefined();
    expect(prefixCacheOf(some, { hits: 1, queries: 200 })).toBeUndefined();
  });
});
