"""A service of workloads/serve.py as one process of mps.py, with the protocol of mps.cu and one word more: `profile N` prints
what CUPTI saw of each kernel in N replays of its graph.
    mps_service.py --model bert-large --batch 4 ...      as of serve.py
"""

import collections
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workloads"))
import serve
import serving


def replay(torch, launch, replays):
    """Microseconds of each: until synchronised, of the launch call, between events on the GPU."""
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stream = torch.cuda.current_stream()
    rows = []
    for _ in range(replays):
        first.record()
        begin = time.perf_counter_ns()
        launch()
        launched = time.perf_counter_ns()
        last.record()
        stream.synchronize()
        end = time.perf_counter_ns()
        rows.append(((end - begin) / 1e3, (launched - begin) / 1e3, first.elapsed_time(last) * 1e3))
    return [[round(value, 1) for value in column] for column in zip(*rows, strict=True)]


def profile(torch, launch, replays):
    """One replay: kernels, the sum of their times, of the gaps between them, and the names that take most."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as seen:
        for _ in range(replays):
            launch()
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        seen.export_chrome_trace(f"{folder}/trace.json")
        with open(f"{folder}/trace.json", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    kernels = sorted(((e["ts"], e["dur"], e["name"]) for e in events if e.get("cat") == "kernel"), key=lambda k: k[0])
    gaps, overlapped = [], 0
    for (begin, took, _), (after, _, _) in zip(kernels, kernels[1:], strict=False):
        gap = after - begin - took
        if gap < 0:
            overlapped += 1
        if gap < 50:  # more: between two replays
            gaps.append(gap)
    names = collections.defaultdict(list)
    for _, took, name in kernels:
        names[name].append(took)
    most = sorted(names.items(), key=lambda item: -sum(item[1]))[:25]
    return {
        "kernels": len(kernels) / replays,
        "kernelsUs": round(sum(k[1] for k in kernels) / replays, 1),
        "gapsUs": round(sum(gaps) / replays, 1),
        "overlapped": overlapped / replays,
        "names": {n[:120]: [len(t) / replays, round(sum(t) / len(t), 3)] for n, t in most},
    }


def main():
    server = serve.Server(serve.options())
    serving.warm_up(server.serve)
    torch = server.torch
    replay(torch, server.compute, 5)
    print("ready", flush=True)
    for line in sys.stdin:
        word, count = line.split()
        if word == "profile":
            row = profile(torch, server.compute, int(count))
        else:
            us, launch, span = replay(torch, server.compute, int(count))
            row = {"case": "service", "kernels": 0, "us": us, "launchUs": launch, "spanUs": span}
        print(json.dumps(row))
        print("done", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
