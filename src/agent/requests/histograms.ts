// How inference servers name the histograms of their requests.
import type { RequestKind } from "#policy";

/**
 * By kind; the first one that a server has is used. Names and meanings are from the projects' sources:
 * vLLM: vllm/v1/metrics/loggers.py (0.11; before, time_per_output_token_seconds was the time between tokens).
 * SGLang: python/sglang/srt/metrics/collector.py (0.5; time_per_output_token_seconds until 0.4.5).
 * TGI: router/src/server.rs (3.0; its mean time per token includes the prefill).
 * Triton: docs/user_guide/metrics.md (24.08, needs --metrics-config histogram_latencies=true; the first response of a
 * decoupled model).
 */
export const histogramsOf: Readonly<Record<RequestKind, readonly string[]>> = {
  ttft: [
    "vllm:time_to_first_token_seconds",
    "sglang:time_to_first_token_seconds",
    "nv_inference_first_response_histogram_ms",
  ],
  tpot: [
    "vllm:request_time_per_output_token_seconds",
    "sglang:time_per_output_token_seconds",
    "tgi_request_mean_time_per_token_duration",
  ],
  itl: [
    "vllm:inter_token_latency_seconds",
    "vllm:time_per_output_token_seconds",
    "sglang:inter_token_latency_seconds",
  ],
  e2e: [
    "vllm:e2e_request_latency_seconds",
    "sglang:e2e_request_latency_seconds",
    "tgi_request_duration",
  ],
};

export const allHistograms: ReadonlySet<string> = new Set(Object.values(histogramsOf).flat());
