"""The server's metrics, with the names, labels and buckets of vLLM 0.12 (vllm/v1/metrics/loggers.py)."""

import bisect
import threading

TTFT_S = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
TOKEN_S = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
)
REQUEST_S = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)


class Histogram:
    def __init__(self, limits):
        self.limits = limits
        self.counts = [0] * (len(limits) + 1)
        self.sum = 0.0

    def observe(self, value):
        self.counts[bisect.bisect_left(self.limits, value)] += 1
        self.sum += value

    def lines(self, name, labels):
        total = 0
        for limit, count in zip((*self.limits, "+Inf"), self.counts):
            total += count
            yield f'{name}_bucket{{{labels},le="{limit}"}} {total}'
        yield f"{name}_count{{{labels}}} {total}"
        yield f"{name}_sum{{{labels}}} {self.sum}"


class Metrics:
    def __init__(self, model):
        self._lock = threading.Lock()
        self._labels = f'engine="0",model_name="{model}"'
        self.histograms = {
            "time_to_first_token_seconds": Histogram(TTFT_S),
            "inter_token_latency_seconds": Histogram(TOKEN_S),
            "request_time_per_output_token_seconds": Histogram(TOKEN_S),
            "e2e_request_latency_seconds": Histogram(REQUEST_S),
        }
        self.counters = {"prompt_tokens": 0, "generation_tokens": 0}
        self.ended = {"stop": 0, "length": 0, "abort": 0, "error": 0}

    def first(self, seconds, prompt_tokens):
        """The first token came so long after the request's arrival."""
        with self._lock:
            self.histograms["time_to_first_token_seconds"].observe(seconds)
            self.counters["prompt_tokens"] += prompt_tokens
            self.counters["generation_tokens"] += 1

    def next(self, seconds):
        """Another token came so long after the one before."""
        with self._lock:
            self.histograms["inter_token_latency_seconds"].observe(seconds)
            self.counters["generation_tokens"] += 1

    def end(self, reason, seconds=None, per_token=None):
        """The request's end: with its times if it ended well, and the time per token if it made several."""
        with self._lock:
            self.ended[reason] += 1
            if seconds is not None:
                self.histograms["e2e_request_latency_seconds"].observe(seconds)
            if per_token is not None:
                self.histograms["request_time_per_output_token_seconds"].observe(per_token)

    def text(self, running, waiting):
        """Text for Prometheus."""
        with self._lock:
            return "\n".join([*self._lines(running, waiting), ""])

    def _lines(self, running, waiting):
        for name, value in (("num_requests_running", running), ("num_requests_waiting", waiting)):
            yield f"# TYPE vllm:{name} gauge"
            yield f"vllm:{name}{{{self._labels}}} {value}"
        for name, value in self.counters.items():
            yield f"# TYPE vllm:{name}_total counter"
            yield f"vllm:{name}_total{{{self._labels}}} {value}"
        yield "# TYPE vllm:request_success_total counter"
        for reason, count in self.ended.items():
            yield f'vllm:request_success_total{{{self._labels},finished_reason="{reason}"}} {count}'
        for name, histogram in self.histograms.items():
            yield f"# TYPE vllm:{name} histogram"
            yield from histogram.lines(f"vllm:{name}", self._labels)
