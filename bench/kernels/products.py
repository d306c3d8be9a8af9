"""Best-effort work of long matrix products alone: the one before GPT-2's loss, forward, again and again.

50,257 columns of a vocabulary leave the data unaligned, so cuBLAS takes an old kernel, and one product of 8 x 512
tokens takes 5 ms on an H200. How it is led: workloads/iterating.py.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../workloads"))
import iterating  # noqa: E402
from check import Parser  # noqa: E402
from iterating import TorchJob  # noqa: E402

DTYPES = ("bfloat16", "float16", "float32")


def options():
    parser = Parser("products.py", __doc__)
    add = parser.add_argument
    add("--tokens", type=int, default=4096)
    add("--width", type=int, default=1280)
    add("--vocabulary", type=int, default=50257)
    add("--dtype", choices=DTYPES, default="bfloat16")
    iterating.add_options(parser, "products")
    return parser.checked(parser.parse_args(), ("torch",))


class Multiplier(TorchJob):
    warm_ups = 10 * iterating.WARM_UP

    def __init__(self, given):
        import torch

        self.torch = torch
        self.given = given
        torch.manual_seed(given.seed)
        like = {"device": "cuda", "dtype": getattr(torch, given.dtype)}
        self.x = torch.randn(given.tokens, given.width, **like)
        self.weight = torch.randn(given.vocabulary, given.width, **like)
        self.out = torch.empty(given.tokens, given.vocabulary, **like)
        self.iterations = 0

    def step(self):
        self.torch.mm(self.x, self.weight.t(), out=self.out)
        self.iterations += 1
        if self.given.sync_every and self.iterations % self.given.sync_every == 0:
            self.torch.cuda.current_stream().synchronize()

    def facts(self):
        given = self.given
        return {
            "label": f"product {given.tokens} x {given.width} x {given.vocabulary} {given.dtype}",
            "model": "product",
            "batch": given.tokens,
            "dtype": given.dtype,
            "memory_bytes": self.torch.cuda.memory_reserved(),
        }


def main():
    given = options()
    iterating.run(Multiplier(given), given)


if __name__ == "__main__":
    main()
