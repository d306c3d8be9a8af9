"""Triton kernels as users write them, launched once each, and the PTX that Triton made of them.

    python3 workloads/triton_kernels.py FOLDER [--only NAME] [--processes N]

Matrix products (bf16, fp8, tf32, split along K, persistent, with tensor descriptors, warp-specialised), attention
forward and backward, and rows: softmax, layer norm, scans, sorts, histograms. For each, FOLDER gets NAME.ptx,
NAME.cubin and NAME.json: the launch's grid, shared memory and arguments. bench/ptx/h200/captured.ts reads them.
"""

import argparse
import json
import multiprocessing
import os
import time
import traceback

import torch
import triton
import triton.language as tl

# ---- matrix products


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a b, rows contiguous; sizes are multiples of the tiles."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK):
        x = tl.load(a + rows[:, None] * k + (at + inner)[None, :])
        y = tl.load(b + (at + inner)[:, None] * n + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty))


@triton.jit
def matmul_transposed(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c = a b^T, with b stored by its columns: what fp8 tensor cores want. Masked, for sizes of any kind."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    inside_m = (rows < m)[:, None]
    inside_n = (columns < n)[None, :]
    for at in range(0, k, BK):
        here = (at + inner) < k
        x = tl.load(a + rows[:, None] * k + (at + inner)[None, :], mask=here[None, :] & inside_m, other=0.0)
        y = tl.load(b + columns[None, :] * k + (at + inner)[:, None], mask=here[:, None] & inside_n, other=0.0)
        total = tl.dot(x, y, total)
    out = c + rows[:, None] * n + columns[None, :]
    tl.store(out, total.to(c.dtype.element_ty), mask=inside_m & inside_n)


@triton.jit
def matmul_split(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.program_id(2) * BK + tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for at in range(0, k, BK * SPLIT):
        x = tl.load(a + rows[:, None] * k + (at + inner)[None, :])
        y = tl.load(b + (at + inner)[:, None] * n + columns[None, :])
        total = tl.dot(x, y, total)
    tl.atomic_add(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def matmul_persistent(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BLOCKS: tl.constexpr):
    across = tl.cdiv(n, BN)
    for tile in range(tl.program_id(0), tl.cdiv(m, BM) * across, BLOCKS):
        rows = tile // across * BM + tl.arange(0, BM)
        columns = tile % across * BN + tl.arange(0, BN)
        inner = tl.arange(0, BK)
        total = tl.zeros((BM, BN), tl.float32)
        for at in range(0, k, BK):
            x = tl.load(a + rows[:, None] * k + (at + inner)[None, :])
            y = tl.load(b + (at + inner)[:, None] * n + columns[None, :])
            total = tl.dot(x, y, total)
        tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty))


@triton.jit
def matmul_descriptors(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIAL: tl.constexpr):
    """Tiles come through the tensor memory accelerator; SPECIAL: loads and products in warps of their own."""
    left = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
    out = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for at in tl.range(0, k, BK, warp_specialize=SPECIAL):
        total = tl.dot(left.load([row, at]), right.load([column, at]).T, total)
    out.store([row, column], total.to(c.dtype.element_ty))


# ---- attention, [heads, n, D] contiguous


@triton.jit
def attention(q, k, v, out, lse, scale, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    base = tl.program_id(1).to(tl.int64) * n * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + base + rows[:, None] * D + d[None, :])
    most = tl.full((BM,), float("-inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    until = n
    if CAUSAL:
        until = (tl.program_id(0) + 1) * BM
    for at in range(0, until, BN):
        columns = at + tl.arange(0, BN)
        y = tl.load(k + base + columns[:, None] * D + d[None, :])
        s = tl.dot(x, tl.trans(y)) * scale
        if CAUSAL:
            s = tl.where(rows[:, None] >= columns[None, :], s, float("-inf"))
        higher = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - higher[:, None])
        shrink = tl.exp2(most - higher)
        weight = weight * shrink + tl.sum(p, 1)
        z = tl.load(v + base + columns[:, None] * D + d[None, :])
        total = tl.dot(p.to(z.dtype), z, total * shrink[:, None])
        most = higher
    tl.store(out + base + rows[:, None] * D + d[None, :], (total / weight[:, None]).to(out.dtype.element_ty))
    tl.store(lse + tl.program_id(1) * n + rows, most + tl.log2(weight))


@triton.jit
def attention_keys(q, k, v, grad, lse, delta, dk, dv, scale, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Backward: a block of keys and values over all queries."""
    base = tl.program_id(1).to(tl.int64) * n * D
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    y = tl.load(k + base + columns[:, None] * D + d[None, :])
    z = tl.load(v + base + columns[:, None] * D + d[None, :])
    keys = tl.zeros((BN, D), tl.float32)
    values = tl.zeros((BN, D), tl.float32)
    for at in range(0, n, BM):
        rows = at + tl.arange(0, BM)
        x = tl.load(q + base + rows[:, None] * D + d[None, :])
        g = tl.load(grad + base + rows[:, None] * D + d[None, :])
        p = tl.exp2(tl.dot(y, tl.trans(x)) * scale - tl.load(lse + tl.program_id(1) * n + rows)[None, :])
        values = tl.dot(p.to(g.dtype), g, values)
        ds = p * (tl.dot(z, tl.trans(g)) - tl.load(delta + tl.program_id(1) * n + rows)[None, :])
        keys = tl.dot(ds.to(x.dtype), x, keys)
    tl.store(dk + base + columns[:, None] * D + d[None, :], keys.to(dk.dtype.element_ty))
    tl.store(dv + base + columns[:, None] * D + d[None, :], values.to(dv.dtype.element_ty))


@triton.jit
def attention_queries(q, k, v, grad, lse, delta, dq, scale, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Backward: a block of queries over all keys."""
    base = tl.program_id(1).to(tl.int64) * n * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + base + rows[:, None] * D + d[None, :])
    g = tl.load(grad + base + rows[:, None] * D + d[None, :])
    level = tl.load(lse + tl.program_id(1) * n + rows)
    less = tl.load(delta + tl.program_id(1) * n + rows)
    total = tl.zeros((BM, D), tl.float32)
    for at in range(0, n, BN):
        columns = at + tl.arange(0, BN)
        y = tl.load(k + base + columns[:, None] * D + d[None, :])
        z = tl.load(v + base + columns[:, None] * D + d[None, :])
        p = tl.exp2(tl.dot(x, tl.trans(y)) * scale - level[:, None])
        ds = p * (tl.dot(g, tl.trans(z)) - less[:, None])
        total = tl.dot(ds.to(y.dtype), y, total)
    tl.store(dq + base + rows[:, None] * D + d[None, :], total.to(dq.dtype.element_ty))


# ---- rows


@triton.jit
def softmax_persistent(x, y, rows, columns, WIDTH: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=3):
        at = tl.arange(0, WIDTH)
        value = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf"))
        top = tl.exp(value - tl.max(value, 0))
        tl.store(y + row * columns + at, top / tl.sum(top, 0), mask=at < columns)


@triton.jit
def layer_norm(x, weight, bias, y, columns, eps, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((WIDTH,), tl.float32)
    square = tl.zeros((WIDTH,), tl.float32)
    for at in range(0, columns, WIDTH):
        here = at + tl.arange(0, WIDTH)
        value = tl.load(x + row * columns + here, mask=here < columns, other=0.0).to(tl.float32)
        total += value
        square += value * value
    mean = tl.sum(total, 0) / columns
    scale = tl.rsqrt(tl.sum(square, 0) / columns - mean * mean + eps)
    for at in range(0, columns, WIDTH):
        here = at + tl.arange(0, WIDTH)
        value = tl.load(x + row * columns + here, mask=here < columns, other=0.0).to(tl.float32)
        factor = tl.load(weight + here, mask=here < columns).to(tl.float32)
        added = tl.load(bias + here, mask=here < columns).to(tl.float32)
        made = (value - mean) * scale * factor + added
        tl.store(y + row * columns + here, made.to(y.dtype.element_ty), mask=here < columns)


@triton.jit
def weight_grad_locked(x, grad, out, lock, columns, GROUPS: tl.constexpr, WIDTH: tl.constexpr):
    """Partial sums of rows behind locks: a block may wait for one that holds its group."""
    row = tl.program_id(0)
    group = row % GROUPS
    here = tl.arange(0, WIDTH)
    value = tl.load(x + row * columns + here) * tl.load(grad + row * columns + here)
    while tl.atomic_cas(lock + group, 0, 1) == 1:
        pass
    tl.store(out + group * columns + here, tl.load(out + group * columns + here) + value)
    tl.debug_barrier()
    tl.atomic_xchg(lock + group, 0)


@triton.jit
def barrier_by_hand(x, y, count, WIDTH: tl.constexpr):
    """All blocks wait for all: to be refused."""
    here = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(y + here, tl.load(x + here) * 2)
    tl.atomic_add(count, 1)
    while tl.atomic_add(count, 0) < tl.num_programs(0):
        pass
    other = (tl.program_id(0) + 1) % tl.num_programs(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(x + here, tl.load(y + other))


@triton.jit
def dropout(x, y, n, p, seed, WIDTH: tl.constexpr):
    here = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    keep = tl.rand(seed, here) > p
    value = tl.load(x + here, mask=here < n)
    tl.store(y + here, tl.where(keep, value / (1 - p), 0.0), mask=here < n)


@triton.jit
def scan_rows(x, y, columns, WIDTH: tl.constexpr):
    here = tl.arange(0, WIDTH)
    value = tl.load(x + tl.program_id(0) * columns + here, mask=here < columns, other=0.0)
    tl.store(y + tl.program_id(0) * columns + here, tl.cumsum(value, 0), mask=here < columns)


@triton.jit
def sort_rows(x, y, columns, WIDTH: tl.constexpr):
    here = tl.arange(0, WIDTH)
    value = tl.load(x + tl.program_id(0) * columns + here)
    tl.store(y + tl.program_id(0) * columns + here, tl.sort(value))


@triton.jit
def histogram(x, y, n, BINS: tl.constexpr, WIDTH: tl.constexpr):
    here = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.atomic_add(y + tl.arange(0, BINS), tl.histogram(tl.load(x + here), BINS))


# ---- launching them


def random(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda").to(dtype)


def whole(below, count):
    return torch.randint(0, below, (count,), dtype=torch.int32, device="cuda")


def product(
    kernel, grid_of, dtype=torch.bfloat16, out=torch.bfloat16, m=2048, n=2048, k=4096, transposed=False, **more
):
    a = random(m, k, dtype=dtype)
    b = random(n, k, dtype=dtype) if transposed else random(k, n, dtype=dtype)
    c = torch.zeros(m, n, device="cuda", dtype=out)
    yield kernel, grid_of(m, n, more), (a, b, c, m, n, k), more
    right = b.float().T if transposed else b.float()
    wanted = a.float() @ right
    assert torch.allclose(c.float(), wanted, rtol=5e-2, atol=2.0), (c.float() - wanted).abs().max()


def tiles(m, n, more):
    return (triton.cdiv(m, more["BM"]), triton.cdiv(n, more["BN"]))


def attentions(heads=32, n=2048, d=64, causal=True, backward=False, **more):
    shape = (heads, n, d)
    q, k, v = (random(*shape) for _ in range(3))
    out = torch.empty_like(q)
    lse = torch.empty(heads, n, device="cuda")
    scale = d**-0.5 * 1.4426950408889634
    if not backward:
        grid = (n // more["BM"], heads)
        yield attention, grid, (q, k, v, out, lse, scale, n), {**more, "D": d, "CAUSAL": causal}
        wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        assert torch.allclose(out, wanted, rtol=5e-2, atol=5e-2)
        return
    grad, dq, dk, dv = (torch.randn_like(q) for _ in range(4))
    delta = (out * grad).float().sum(-1)
    lse.fill_(8.0)
    yield attention_keys, (n // more["BN"], heads), (q, k, v, grad, lse, delta, dk, dv, scale, n), {**more, "D": d}
    yield attention_queries, (n // more["BM"], heads), (q, k, v, grad, lse, delta, dq, scale, n), {**more, "D": d}


def rows(kernel, columns=4096, count=4096, dtype=torch.float32, before=(), after=(), **more):
    x = random(count, columns, dtype=dtype)
    yield kernel, (count,), (x, *before, torch.empty_like(x), *after, columns), more


def one(kernel, grid, args, **more):
    yield kernel, grid, args, more


def sms():
    return torch.cuda.get_device_properties(0).multi_processor_count


FP8 = torch.float8_e4m3fn
LARGE = {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3}
SMALL = {"BM": 64, "BN": 64, "BK": 32, "num_warps": 4, "num_stages": 4}
SINGLE = lambda m, n, more: (more["BLOCKS"],)  # noqa: E731
WIDE = 1 << 22

JOBS = {
    "matmul_bf16": lambda: product(matmul, tiles, **LARGE),
    "matmul_bf16_small": lambda: product(matmul, tiles, **SMALL),
    "matmul_f16": lambda: product(matmul, tiles, dtype=torch.float16, out=torch.float32, **LARGE),
    "matmul_tf32": lambda: product(matmul, tiles, dtype=torch.float32, out=torch.float32, **{**SMALL, "BM": 128}),
    "matmul_masked": lambda: product(matmul_transposed, tiles, m=2000, n=2040, k=4000, transposed=True, **LARGE),
    "matmul_fp8": lambda: product(matmul_transposed, tiles, dtype=FP8, transposed=True, **{**LARGE, "BK": 128}),
    "matmul_split": lambda: product(
        matmul_split, lambda m, n, more: (*tiles(m, n, more), more["SPLIT"]), out=torch.float32, SPLIT=4, **LARGE
    ),
    "matmul_persistent": lambda: product(matmul_persistent, SINGLE, BLOCKS=sms(), **LARGE),
    "matmul_descriptors": lambda: product(matmul_descriptors, tiles, transposed=True, SPECIAL=False, **LARGE),
    "matmul_specialised": lambda: product(
        matmul_descriptors, tiles, transposed=True, SPECIAL=True, **{**LARGE, "num_warps": 4}
    ),
    "attention": lambda: attentions(BM=128, BN=64, num_warps=8, num_stages=2),
    "attention_small": lambda: attentions(BM=64, BN=32, causal=False, num_warps=4, num_stages=3),
    "attention_128": lambda: attentions(BM=128, BN=64, d=128, num_warps=8, num_stages=2),
    "attention_backward": lambda: attentions(BM=64, BN=64, backward=True, num_warps=4, num_stages=2),
    "softmax_persistent": lambda: one(
        softmax_persistent, (4 * sms(),), (random(8192, 2000, dtype=torch.float32),) * 2 + (8192, 2000), WIDTH=2048
    ),
    "layer_norm": lambda: one(
        layer_norm,
        (4096,),
        (random(4096, 3000), random(3000), random(3000), random(4096, 3000), 3000, 1e-5),
        WIDTH=1024,
    ),
    "weight_grad_locked": lambda: one(
        weight_grad_locked,
        (1024,),
        (*(random(size, 2048, dtype=torch.float32) for size in (1024, 1024, 64)), whole(1, 64), 2048),
        GROUPS=64,
        WIDTH=2048,
    ),
    "barrier_by_hand": lambda: one(
        barrier_by_hand,
        (64,),
        (*(random(1 << 16, dtype=torch.float32) for _ in range(2)), whole(1, 1)),
        WIDTH=1024,
    ),
    "dropout": lambda: one(
        dropout,
        (WIDE // 1024,),
        (*(random(WIDE, dtype=torch.float32) for _ in range(2)), WIDE, 0.25, 1234),
        WIDTH=1024,
    ),
    "scan_rows": lambda: rows(scan_rows, columns=2000, WIDTH=2048),
    "sort_rows": lambda: rows(sort_rows, columns=1024, WIDTH=1024),
    "histogram": lambda: one(
        histogram,
        (WIDE // 4096,),
        (whole(256, WIDE), whole(1, 256), WIDE),
        BINS=256,
        WIDTH=4096,
    ),
}


def described(compiled, kernel, grid, args, more):
    """The arguments that the machine code has: those that Triton did not make constants."""
    given = dict(zip(kernel.arg_names, args)) | more
    kept = []
    for name, kind in compiled.src.signature.items():
        if kind == "constexpr":
            continue
        value = given[name]
        if isinstance(value, torch.Tensor):
            kept.append({"kind": "buffer", "bytes": value.numel() * value.element_size(), "type": str(value.dtype)[6:]})
        else:
            kept.append({"kind": "scalar", "type": kind, "value": value})
    metadata = compiled.metadata
    return {
        "kernel": metadata.name,
        "grid": [*grid, 1, 1][:3],
        "shared": metadata.shared,
        "scratch": getattr(metadata, "global_scratch_size", 0),
        "warps": metadata.num_warps,
        "triton": triton.__version__,
        "args": kept,
    }


def capture(task):
    job, folder = task
    began = time.monotonic()
    made = []
    fault = None
    try:
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
        torch.manual_seed(0)
        for kernel, grid, args, more in JOBS[job]():
            compiled = kernel[grid](*args, **more)
            name = job if kernel.__name__ in job else f"{job}-{kernel.__name__}"
            path = os.path.join(folder, name)
            with open(f"{path}.ptx", "w", encoding="latin1") as file:
                file.write(compiled.asm["ptx"])
            with open(f"{path}.cubin", "wb") as file:
                file.write(compiled.asm["cubin"])
            with open(f"{path}.json", "w", encoding="utf8") as file:
                json.dump(described(compiled, kernel, grid, args, more), file, indent=1)
            made.append(name)
            torch.cuda.synchronize()
    except Exception as error:  # one that this Triton can't compile must not cost the others
        fault = f"{type(error).__name__}: {error}"[:300]
        if os.environ.get("TRACE"):
            traceback.print_exc()
    return job, made, fault, time.monotonic() - began


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("folder")
    words.add_argument("--only", action="append", choices=sorted(JOBS))
    words.add_argument("--processes", type=int, default=8)
    given = words.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    tasks = [(job, given.folder) for job in given.only or JOBS]
    # The parent makes no context, so that children can be forked with what has been imported.
    with multiprocessing.get_context("fork").Pool(given.processes) as pool:
        for job, made, fault, seconds in pool.imap_unordered(capture, tasks):
            print(f"{job}: {', '.join(made) or 'nothing'}{f' ({fault})' if fault else ''}, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
