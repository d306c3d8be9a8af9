// The names were read in the engines' sources, which each entry names.

/** Times are in seconds, unless the metric's name ends in _ms or _us. */
export const latencies = ["ttft", "tpot", "itl", "e2e"] as const;
export type Latency = (typeof latencies)[number];

export interface PrefixCacheCounters {
  readonly queries: readonly string[];
  readonly hits: readonly string[];
  /** Some versions serve the hits only from the first one on; they have this metric. */
  readonly from?: string;
}

export interface Engine {
  readonly name: string;
  readonly source: string;
  readonly histograms: Readonly<Partial<Record<Latency, string>>>;
  readonly former?: Readonly<Partial<Record<Latency, string>>>;
  readonly waiting?: string;
  readonly prefixCache?: PrefixCacheCounters;
  readonly note?: string;
}

export const engines: readonly Engine[] = [
  {
    name: "vllm",
    source: "vLLM 0.22.1, vllm/v1/metrics/loggers.py",
    histograms: {
      ttft: "vllm:time_to_first_token_seconds",
      tpot: "vllm:request_time_per_output_token_seconds",
      itl: "vllm:inter_token_latency_seconds",
      e2e: "vllm:e2e_request_latency_seconds",
    },
    waiting: "vllm:num_requests_waiting",
    former: { itl: "vllm:time_per_output_token_seconds" },
    prefixCache: {
      queries: [
        "vllm:prefix_cache_queries_total",
        "vllm:prefix_cache_queries",
        "vllm:gpu_prefix_cache_queries_total",
      ],
      hits: [
        "vllm:prefix_cache_hits_total",
        "vllm:prefix_cache_hits",
        "vllm:gpu_prefix_cache_hits_total",
      ],
    },
    note: "before 0.11 the time between tokens was vllm:time_per_output_token_seconds",
  },
  {
    name: "sglang",
    source: "SGLang 0.5.23, python/sglang/srt/observability/metrics_collector.py",
    histograms: {
      ttft: "sglang:time_to_first_token_seconds",
      tpot: "sglang:request_time_per_output_token_seconds",
      itl: "sglang:inter_token_latency_seconds",
      e2e: "sglang:e2e_request_latency_seconds",
    },
    former: { tpot: "sglang:time_per_output_token_seconds" },
    waiting: "sglang:num_queue_reqs",
    prefixCache: {
      queries: ["sglang:prompt_tokens_total"],
      hits: ["sglang:cached_tokens_total"],
      from: "sglang:cache_hit_rate",
    },
    note: "served with `--enable-metrics` only; the time per output token was sglang:time_per_output_token_seconds up to 0.4, and some versions between have none",
  },
  {
    name: "tgi",
    source:
      "Text Generation Inference 3, router/src/server.rs and docs/source/reference/metrics.md",
    histograms: {
      tpot: "tgi_request_mean_time_per_token_duration",
      e2e: "tgi_request_duration",
    },
    waiting: "tgi_queue_size",
    // Histograms of tokens for each request have sums that are counters.
    note: "its time per token includes the first token",
  },
  {
    name: "triton",
    source: "Triton Inference Server, docs/user_guide/metrics.md",
    histograms: { ttft: "nv_inference_first_response_histogram_ms" },
    waiting: "nv_inference_pending_request_count",
    note: "decoupled models only, with `--metrics-config histogram_latencies=true`; the first response may hold several tokens",
  },
];

/** Newer versions come first. */
export const histogramsOf = (latency: Latency): readonly string[] =>
  [...engines.map(({ histograms }) => histograms), ...engines.map(({ former }) => former)].flatMap(
    (names) => names?.[latency] ?? [],
  );

export const prefixCaches: readonly PrefixCacheCounters[] = engines.flatMap(
  ({ prefixCache }) => prefixCache ?? [],
);

export const waitingGauges: readonly string[] = engines.flatMap(({ waiting }) => waiting ?? []);
