"""Compiles two of Triton's mainloops for sm_90a, in the manner of its tutorials: triton_kernels.py FOLDER"""

import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul_persistent(
    a,
    b,
    c,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SPECIALIZE: tl.constexpr,
):
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * tiles_n
    for tile in tl.range(
        tl.program_id(0), tiles, tl.num_programs(0), flatten=not SPECIALIZE, warp_specialize=SPECIALIZE
    ):
        row = (tile // tiles_n) * BLOCK_M
        column = (tile % tiles_n) * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(tl.cdiv(K, BLOCK_K)):
            total = tl.dot(a.load([row, k * BLOCK_K]), b.load([column, k * BLOCK_K]).T, total)
        c.store([row, column], total.to(tl.float16))


@triton.jit
def attention(
    q,
    k,
    v,
    out,
    logs,
    scale,
    N,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HEAD: tl.constexpr,
    SPECIALIZE: tl.constexpr,
):
    first = tl.program_id(1) * N
    row = first + tl.program_id(0) * BLOCK_M
    most = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    sums = tl.zeros([BLOCK_M], dtype=tl.float32)
    total = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    queries = q.load([row, 0])
    for at in tl.range(0, N, BLOCK_N, warp_specialize=SPECIALIZE):
        weights = tl.dot(queries, k.load([first + at, 0]).T) * scale
        larger = tl.maximum(most, tl.max(weights, 1))
        weights = tl.math.exp2(weights - larger[:, None])
        before = tl.math.exp2(most - larger)
        sums = sums * before + tl.sum(weights, 1)
        total = total * before[:, None]
        total = tl.dot(weights.to(tl.float16), v.load([first + at, 0]), total)
        most = larger
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    tl.store(logs + first + rows, most + tl.math.log2(sums))
    out.store([row, 0], (total / sums[:, None]).to(tl.float16))


def descriptor(rows, columns):
    return f"tensordesc<fp16[{rows}, {columns}]>"


def compile_to(path, kernel, signature, constants, warps, stages):
    source = ASTSource(
        fn=kernel, signature={**signature, **dict.fromkeys(constants, "constexpr")}, constexprs=constants
    )
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps, "num_stages": stages})
    with open(path, "w", encoding="latin1") as file:
        file.write(made.asm["ptx"])


def main():
    folder = sys.argv[1]
    for specialize in (False, True):
        rows = 64 if specialize else 128
        suffix = "_specialized" if specialize else ""
        compile_to(
            f"{folder}/triton_matmul{suffix}.ptx",
            matmul_persistent,
            {
                "a": descriptor(rows, 64),
                "b": descriptor(128, 64),
                "c": descriptor(rows, 128),
                "M": "i32",
                "N": "i32",
                "K": "i32",
            },
            {"BLOCK_M": rows, "BLOCK_N": 128, "BLOCK_K": 64, "SPECIALIZE": specialize},
            warps=4 if specialize else 8,
            stages=3,
        )
        compile_to(
            f"{folder}/triton_attention{suffix}.ptx",
            attention,
            {
                "q": descriptor(rows, 64),
                "k": descriptor(64, 64),
                "v": descriptor(64, 64),
                "out": descriptor(rows, 64),
                "logs": "*fp32",
                "scale": "fp32",
                "N": "i32",
            },
            {"BLOCK_M": rows, "BLOCK_N": 64, "HEAD": 64, "SPECIALIZE": specialize},
            warps=4,
            stages=3,
        )


if __name__ == "__main__":
    main()
