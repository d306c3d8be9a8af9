"""An LLM engine: continuous batching by transformers, requests of random tokens at random times.

The model has the shape of Llama 3.2 3B and random weights. `--stages FILE` tells when each part of the start was over;
the end reports time to first token (TTFT) and time per output token after it (TPOT).
"""

import json
import random
import threading
import time

from check import Parser
from openloop import poisson, wait_until

SHAPE = {
    "vocab_size": 128_256,
    "hidden_size": 3072,
    "intermediate_size": 8192,
    "num_hidden_layers": 28,
    "num_attention_heads": 24,
    "num_key_value_heads": 8,
    "head_dim": 128,
}
# Blocks have 256 tokens each: about 7.5 GB in bf16.
CACHE_BLOCKS = 256
BATCH_TOKENS = 1024


def options():
    parser = Parser("engine.py", __doc__)
    add = parser.add_argument
    add("--rate", type=float, default=1.2, help="requests per second")
    add("--seconds", type=float, default=20.0, help="in which requests come")
    add("--prompt", type=int, default=512, help="tokens of a prompt")
    add("--tokens", type=int, default=64, help="tokens that a request makes")
    add("--layers", type=int, default=SHAPE["num_hidden_layers"])
    add("--seed", type=int, default=1)
    add("--stages", help='write "NAME NS" here as each part of the start is over (CLOCK_MONOTONIC)')
    add("--json", help="write TTFT and TPOT of each request here")
    given = parser.parse_args()
    if given.rate <= 0:
        parser.error("--rate must be above 0")
    return parser.checked(given, ("torch", "transformers"))


class Stages:
    """When each part of the start was over."""

    def __init__(self, path):
        self._file = open(path, "w", encoding="utf-8") if path else None
        self.end("begin")

    def end(self, name):
        if self._file:
            print(name, time.monotonic_ns(), file=self._file, flush=True)


def engine(given, stages):
    """A manager that has captured its graphs and takes requests."""
    import torch
    from transformers import ContinuousBatchingConfig, GenerationConfig, LlamaConfig, LlamaForCausalLM

    stages.end("import")
    torch.manual_seed(given.seed)
    config = LlamaConfig(**{**SHAPE, "num_hidden_layers": given.layers}, attn_implementation="paged|sdpa")
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = LlamaForCausalLM(config).eval()
    torch.cuda.synchronize()
    stages.end("weights")
    manager = model.init_continuous_batching(
        # No token ends a request early.
        generation_config=GenerationConfig(max_new_tokens=given.tokens, do_sample=False, eos_token_id=-1),
        continuous_batching_config=ContinuousBatchingConfig(
            num_blocks=CACHE_BLOCKS, max_batch_tokens=BATCH_TOKENS, use_cuda_graph=True, allow_block_sharing=False
        ),
    )
    manager.warmup()
    torch.cuda.synchronize()
    stages.end("warm-up")
    manager.start()
    return manager


def serve(manager, given):
    """Plays the arrivals; what the engine says of each request, and when each arrived (seconds)."""
    draw = random.Random(given.seed)
    offsets = poisson(given.rate, given.seconds, given.seed)
    start = time.monotonic_ns()
    arrived = {}

    def play():
        for i, offset in enumerate(offsets):
            wait_until(start + offset)
            arrived[f"r{i}"] = time.perf_counter()
            prompt = [draw.randrange(SHAPE["vocab_size"]) for _ in range(given.prompt)]
            manager.add_request(prompt, request_id=f"r{i}", max_new_tokens=given.tokens, record_timestamps=True)

    client = threading.Thread(target=play)
    client.start()
    answers = []
    while len(answers) < len(offsets):
        answer = manager.get_result(timeout=30)
        if answer is None:
            raise SystemExit("engine.py: no answer for 30 s")
        if answer.error:
            raise SystemExit(f"engine.py: request {answer.request_id} failed: {answer.error}")
        answers.append(answer)
    client.join()
    return answers, arrived


def main():
    given = options()
    stages = Stages(given.stages)
    manager = engine(given, stages)
    answers, arrived = serve(manager, given)
    stages.end("serving")
    manager.stop(block=True)
    first = [(answer.timestamps[0] - arrived[answer.request_id]) * 1e3 for answer in answers]
    each = [
        (answer.timestamps[-1] - answer.timestamps[0]) / (len(answer.timestamps) - 1) * 1e3
        for answer in answers
        if len(answer.timestamps) > 1
    ]
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"ttft_ms": first, "tpot_ms": each}, file)
    for name, times in (("TTFT", sorted(first)), ("TPOT", sorted(each))):
        at = [times[int(q * (len(times) - 1))] for q in (0.5, 0.9, 0.99)]
        print(f"{name} p50 p90 p99 ms: {' '.join(f'{ms:.2f}' for ms in at)}", flush=True)


if __name__ == "__main__":
    main()
