"""Triton kernels of some ms, which a request can stop inside: a matrix product and a recurrence, in many blocks. Prints the
version of Triton and a digest of the results. Needs PyTorch for its tensors only, so any version of Triton will do.
"""

import argparse
import hashlib

import torch
import triton
import triton.language as tl

SIZE, TILE, DEPTH = 4096, 64, 32
COUNT, BLOCK, ROUNDS = 1 << 24, 256, 2000


@triton.jit
def matmul(a, b, c, n, TILE: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, DEPTH)
    total = tl.zeros((TILE, TILE), tl.float32)
    for at in range(0, n, DEPTH):
        x = tl.load(a + rows[:, None] * n + (at + inner)[None, :])
        y = tl.load(b + (at + inner)[:, None] * n + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.bfloat16))


@triton.jit
def recur(x, rounds, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    for _ in range(rounds):
        value = value * 0.999 + 0.001
    tl.store(x + at, value)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--iterations", type=int, default=200)
    iterations = arguments.parse_args().iterations
    generator = torch.Generator("cuda").manual_seed(1)
    a = torch.randn(SIZE, SIZE, generator=generator, device="cuda").to(torch.bfloat16)
    b = (torch.randn(SIZE, SIZE, generator=generator, device="cuda") / SIZE**0.5).to(torch.bfloat16)
    x = torch.rand(COUNT, generator=generator, device="cuda")
    c = torch.empty_like(a)
    tiles = (SIZE // TILE, SIZE // TILE)
    for iteration in range(iterations):
        matmul[tiles](a, b, c, SIZE, TILE, DEPTH)
        recur[(COUNT // BLOCK,)](x, ROUNDS, BLOCK)
        a, c = c, a
        if iteration % 4 == 3:
            torch.cuda.synchronize()
    digest = hashlib.sha256(a.view(torch.int16).cpu().numpy().tobytes() + x.cpu().numpy().tobytes())
    print("triton", triton.__version__)
    print("digest", digest.hexdigest())


if __name__ == "__main__":
    main()
