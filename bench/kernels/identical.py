"""Are matrix products given to cuBLAS in parts the same, bit for bit, and what does each cost?

    cotenant up --set splitProductsUs=200
    COTENANT_DEBUG=1 cotenant run --class best-effort -- python3 bench/kernels/identical.py --json FILE

Beside a high client, or nothing is divided. Each product is run once while a CUDA graph is recorded, which leaves it
whole, and many times as it comes. What the interposer says about each (COTENANT_DEBUG) goes into the result.
"""

import argparse
import datetime
import json
import os
import re
import shlex
import sys
import tempfile

from kernels import driver_version

SAID = re.compile(
    r"product of (\d+) (columns|rows|matrices) x (\d+), depth (\d+), (\d+) us, (.*?): (whole: .*|in parts of .*)"
)


def shapes():
    """(name, type, kind, rows of the first, depth, columns of the second, batch). Row-major, as PyTorch has it."""
    gpt2 = (4096, 1280, 50257)
    for dtype in ("bfloat16", "float16"):
        yield "GPT-2 head, forward", dtype, "nt", *gpt2, 1
        yield "GPT-2 head, data gradient", dtype, "nn", 4096, 50257, 1280, 1
        yield "GPT-2 head, weight gradient", dtype, "tn", 50257, 4096, 1280, 1
    for tokens in (4096, 16384):
        yield f"Llama 7B head, {tokens} tokens", "bfloat16", "nt", tokens, 4096, 32000, 1
        yield f"Llama 7B gate, {tokens} tokens", "bfloat16", "linear", tokens, 4096, 11008, 1
        yield f"Llama 7B down, {tokens} tokens", "bfloat16", "nt", tokens, 11008, 4096, 1
        yield f"Llama 7B gate, weight gradient, {tokens}", "bfloat16", "tn", 11008, tokens, 4096, 1
    for dtype in ("float32", "tf32", "float64"):
        for kind in ("nt", "nn", "tn"):
            yield "BERT-large, 4096 inner", dtype, kind, 3072, 1024, 4096, 1
            yield "BERT-large, 4096 deep", dtype, kind, 3072, 4096, 1024, 1
        yield "BERT-large, weight gradient", dtype, "tn", 4096, 3072, 1024, 1
        yield "square", dtype, "nn", 4096, 4096, 4096, 1
    for dtype in ("bfloat16", "float32"):
        yield "odd sizes", dtype, "nn", 7001, 3001, 9001, 1
        yield "odd sizes, bias", dtype, "linear", 8191, 4097, 8191, 1
        yield "few rows", dtype, "nn", 64, 32768, 32768, 1
        yield "few columns", dtype, "nn", 32768, 32768, 64, 1
        yield "added to", dtype, "add", 8192, 8192, 8192, 1
        yield "batch", dtype, "nn", 1024, 1024, 1024, 256
        yield "batch of large ones", dtype, "nn", 4096, 2048, 4096, 8
        yield "large square", dtype, "nn", 8192, 8192, 8192, 1
    # PointNet's widest: cuDNN gives it to cublasLt as a batch.
    for dtype in ("tf32", "bfloat16"):
        for what in ("forward", "data gradient", "weight gradient"):
            yield f"convolution of width 1, {what}", dtype, what, 1024, 128, 1024, 256


def made(torch, dtype, kind, m, k, n, batch):
    """A function that multiplies, into the same result each time."""
    like = {"device": "cuda", "dtype": getattr(torch, "float32" if dtype == "tf32" else dtype)}
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    if kind in ("forward", "data gradient", "weight gradient"):
        torch.backends.cudnn.allow_tf32 = dtype == "tf32"
        return convolution(torch, kind, like, m, k, n, batch)
    lead = (batch,) if batch > 1 else ()
    a = torch.randn(*lead, *((k, m) if kind == "tn" else (m, k)), **like)
    b = torch.randn(*lead, *((n, k) if kind in ("nt", "linear") else (k, n)), **like)
    out = torch.empty(*lead, m, n, **like)
    if kind == "linear":
        bias = torch.randn(n, **like)
        return out, lambda: torch.addmm(bias, a, b.t(), out=out)
    if kind == "add":
        before = torch.randn(m, n, **like)
        return out, lambda: torch.addmm(before, a, b, beta=0.5, out=out)
    first = a.mT if kind == "tn" else a
    second = b.mT if kind == "nt" else b
    return out, lambda: torch.matmul(first, second, out=out)


def convolution(torch, kind, like, after, before, length, batch):
    """A convolution of width 1, from `before` channels to `after`."""
    torch.backends.cudnn.deterministic = True
    x = torch.randn(batch, before, length, **like)
    weight = torch.randn(after, before, 1, **like)
    if kind == "forward":
        out = torch.empty(batch, after, length, **like)
        return out, lambda: out.copy_(torch.nn.functional.conv1d(x, weight))
    gradient = torch.randn(batch, after, length, **like)
    of_data = kind == "data gradient"
    out = torch.empty_like(x if of_data else weight)
    ways = ([1], [0], [1], False, [0], 1, (of_data, not of_data, False))

    def run():
        found = torch.ops.aten.convolution_backward(gradient, x, weight, None, *ways)
        out.copy_(found[0 if of_data else 1])

    return out, run


def timed(torch, run, times, in_a_row=6):
    """Median of the time of one run, us, of several in a row: their CPU time is not seen."""
    found = []
    for _ in range(times):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        run()
        begin.record()
        for _ in range(in_a_row):
            run()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end) * 1000 / in_a_row)
    return sorted(found)[len(found) // 2]


def one(torch, shape, said):
    name, dtype, kind, m, k, n, batch = shape
    out, multiply = made(torch, dtype, kind, m, k, n, batch)
    for _ in range(3):
        multiply()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        multiply()
    out.fill_(float("nan"))
    graph.replay()
    whole = out.clone()
    # The duration is known after two calls, and the parts after three more.
    for _ in range(10):
        multiply()
        torch.cuda.synchronize()
    different = 0
    for _ in range(3):
        out.fill_(float("nan"))
        multiply()
        # NaN differs from itself: numbers as they lie in memory.
        different += int((out.view(torch.uint8) != whole.view(torch.uint8)).sum())
    answers = [found.groups() for found in map(SAID.search, said()) if found]
    return {
        "name": name,
        "dtype": dtype,
        "kind": kind,
        "shape": [m, k, n, batch],
        "identical": different == 0 and not bool(torch.isnan(out).any()),
        "whole_us": timed(torch, graph.replay, 3),
        "now_us": timed(torch, multiply, 3),
        "said": [{"us": int(us), "kernel": kernel, "how": how} for *_, us, kernel, how in answers],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--commit", default="", help="of the code measured")
    parser.add_argument("--only", default="", help="shapes whose name has this in it")
    given = parser.parse_args()
    import torch

    # The interposer's output on stderr, read back after each product.
    log = tempfile.TemporaryFile(mode="a+b")
    os.dup2(log.fileno(), 2)
    read = 0

    def said():
        nonlocal read
        log.seek(read)
        text = log.read()
        read += len(text)
        log.seek(0, os.SEEK_END)
        return text.decode(errors="replace").splitlines()

    torch.manual_seed(1)
    results = []
    facts = {
        "version": 1,
        "kind": "products",
        "date": datetime.date.today().isoformat(),
        "commit": given.commit,
        "command": shlex.join(["python3", "bench/kernels/identical.py", *sys.argv[1:]]),
        "gpu": torch.cuda.get_device_name(),
        "driver": driver_version(),
        "torch": torch.__version__,
    }
    for shape in shapes():
        if given.only not in shape[0]:
            continue
        try:
            found = one(torch, shape, said)
        except RuntimeError as error:
            found = {"name": shape[0], "dtype": shape[1], "failed": str(error)[:200]}
        results.append(found)
        how = " / ".join(each["how"] for each in found.get("said", [])) or "short, or never asked"
        difference = "" if found.get("identical") else f" DIFFERENT {found.get('failed', '')}"
        print(
            f"{found['name']} {found['dtype']} {found.get('kind')}: {found.get('whole_us', 0):.0f} us, "
            f"now {found.get('now_us', 0):.0f}: {how}{difference}",
            flush=True,
        )
        if given.json:
            with open(given.json, "w", encoding="utf-8") as file:
                json.dump({**facts, "products": results}, file, indent=1)
                file.write("\n")
        torch.cuda.empty_cache()
    bad = [found for found in results if not found.get("identical")]
    print(f"{len(results) - len(bad)} of {len(results)} identical", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
