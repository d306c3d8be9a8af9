"""A decoder that makes an answer token by token, eagerly, for one request at a time: a chat without batching.

A request is: the prompt in one pass, then a pass for each token, with a cache of keys and values that grows. Each
token is read by the CPU before the next pass begins, as generate() of transformers does. Random weights. `step_ns` of
--json holds, for each request, the time of the prompt's pass and of each token's.
"""

import sys
import time

import serving
from check import Parser
from llm.shapes import SHAPES
from openloop import Streamed

# A request takes seconds.
WARM_UP = 2


def options(argv=None):
    parser = Parser("generate.py", __doc__)
    add = parser.add_argument
    add("--model", default="llama-3.2-1b", help=", ".join(SHAPES))
    add("--layers", type=int, help="fewer or more than the model has")
    add("--prompt", type=int, default=256, help="tokens of a prompt")
    add("--tokens", type=int, default=64, help="tokens that a request makes")
    add("--device", choices=["cuda", "cpu"], default="cuda")
    serving.add_options(parser, "generate")
    given = parser.parse_args(argv)
    parser.look_up(given.model, SHAPES)
    if given.prompt < 1 or given.tokens < 1:
        parser.error("--prompt and --tokens must be at least 1")
    serving.validate(parser, given)
    return parser.checked(given, ("torch", "transformers"))


class Generator:
    def __init__(self, given):
        import torch
        from llm.models import causal_model

        torch.set_grad_enabled(False)
        self.torch = torch
        self.given = given
        self.model = causal_model(given, given.prompt + given.tokens, "sdpa")
        self.random = torch.Generator().manual_seed(given.seed)
        self.step_ns = []

    def serve(self, _request):
        torch, given = self.torch, self.given
        ids = torch.randint(1000, 30_000, (1, given.prompt), generator=self.random)
        cache = None
        steps = []
        first = 0
        for _ in range(given.tokens):
            begin = time.monotonic_ns()
            made = self.model(ids.to(given.device), past_key_values=cache, use_cache=True, logits_to_keep=1)
            cache = made.past_key_values
            # Waits for the GPU.
            ids = made.logits[:, -1].argmax(dim=-1, keepdim=True).cpu()
            steps.append(time.monotonic_ns() - begin)
            if len(steps) == 1:
                first = begin + steps[0]
        self.step_ns.append(steps)
        return Streamed(first, given.tokens)

    def facts(self):
        given = self.given
        return {
            "label": f"{given.model} {given.prompt} + {given.tokens} tokens eager",
            "model": given.model,
            "form": "eager",
            "batch": 1,
            "dtype": "fp32" if given.device == "cpu" else "bf16",
            "memory_bytes": self.torch.cuda.memory_reserved() if given.device == "cuda" else 0,
        }


def main():
    given = options()
    generator = Generator(given)
    serving.warm_up(generator.serve, WARM_UP)
    generator.step_ns.clear()
    facts = generator.facts()
    print(f"{facts['label']} ready", file=sys.stderr, flush=True)
    # A harness is told the facts before there are steps; --json gets the list as it is at the end.
    serving.run(generator.serve, given, facts if given.control else {**facts, "step_ns": generator.step_ns})
    tokens = sorted(ns for steps in generator.step_ns for ns in steps[1:])
    if tokens:
        at = [tokens[int(q * (len(tokens) - 1))] / 1e6 for q in (0.5, 0.95, 0.99)]
        print(f"step p50 p95 p99 ms: {' '.join(f'{ms:.3f}' for ms in at)}", flush=True)


if __name__ == "__main__":
    main()
