"""Which kernels of a training are long, and does the program carry PTX from which they could be rebuilt?

A kernel that runs for milliseconds can't be stopped in between. This profiles a few iterations and lists
the kernels whose mean time is over --over-us, with their part of all kernel time. Takes the options of
workloads/train.py. Which library a kernel is from is judged by its name (library.py), so "PTX" says how much
of that library carries some that is for this GPU or an older one, not that this kernel is in it.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from statistics import median

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../workloads"))
import train  # noqa: E402
from fatbin import fat_binaries, usable  # noqa: E402
from library import files_of, loaded, prefixes_of  # noqa: E402


def options():
    made = train.parser("kernels.py", __doc__)
    made.add_argument("--over-us", type=float, default=200.0, help="mean time of a kernel worth listing")
    made.add_argument("--profiled", type=int, default=5, help="iterations")
    made.add_argument("--json", metavar="FILE", help="write the result here")
    return train.options(made=made)


def profiled(trainer, iterations):
    """{(name, grid, block): times in us} of the kernels of some iterations."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    trainer.warm_up()
    # Otherwise it warns that it forgets what came before, of which there is nothing.
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as seen:
        for _ in range(iterations):
            trainer.step()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "trace.json")
        seen.export_chrome_trace(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            return times_by_kernel(json.load(file, strict=False))


def times_by_kernel(trace):
    times = defaultdict(list)
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel":
            shape = (tuple(event["args"][side]) for side in ("grid", "block"))
            times[(event["name"], *shape)].append(float(event["dur"]))
    return dict(times)


def longest(times, iterations, over_us):
    """Those over the limit, the ones that take most of the time first."""
    total = sum(map(sum, times.values()))
    found = [
        {
            "name": name,
            "grid": grid,
            "block": block,
            "per_iteration": len(each) / iterations,
            "mean_us": sum(each) / len(each),
            "median_us": median(each),
            "max_us": max(each),
            "share": sum(each) / total,
        }
        for (name, grid, block), each in times.items()
        if sum(each) / len(each) > over_us
    ]
    return sorted(found, key=lambda kernel: -kernel["share"])


def add_origin(kernels, gpu):
    """The library of each, and in how many of its fat binaries for this GPU there is PTX. Returns that by
    file."""
    paths = loaded()
    by_path = {}
    for kernel in kernels:
        prefixes = prefixes_of(kernel["name"])
        if prefixes == ("triton",):
            kernel |= {"library": "Triton", "with_ptx": 1, "fat_binaries": 1}
            continue
        files = files_of(prefixes, paths) if prefixes else []
        for path in files:
            if path not in by_path:
                by_path[path] = origin(path, gpu)
        # Nothing is known of a kernel whose library isn't.
        counts = {
            what: sum(by_path[path][what] for path in files) if files else None for what in ("with_ptx", "fat_binaries")
        }
        kernel |= {"library": prefixes[0] if prefixes else None, **counts}
    return {os.path.basename(path): found for path, found in by_path.items()}


def origin(path, gpu):
    try:
        fats = fat_binaries(path)
    except (OSError, ValueError):
        fats = []
    with_ptx, all_of_them = usable(fats, gpu)
    architectures = sorted({arch for fat in fats for arch in fat.ptx})
    return {"ptx": architectures, "with_ptx": with_ptx, "fat_binaries": all_of_them}


def ptx_words(with_ptx, fat_binaries):
    if not fat_binaries:
        return "unknown"
    if with_ptx in (0, fat_binaries):
        return "yes" if with_ptx else "no"
    return f"{with_ptx} of {fat_binaries}"


def table(result):
    yield f"{result['job']}: {result['kernels_per_iteration']:.0f} kernels an iteration, "
    yield f"{result['kernel_ms_per_iteration']:.1f} ms; over {result['over_us']:.0f} us:\n\n"
    yield "| kernel | grid | an iteration | mean us | max us | share | library (by name) | PTX for this GPU |\n"
    yield "| --- | --- | --: | --: | --: | --: | --- | --- |\n"
    for kernel in result["kernels"]:
        ptx = ptx_words(kernel["with_ptx"], kernel["fat_binaries"])
        name = kernel["name"].replace("|", "\\|")
        name = name if len(name) <= 90 else name[:87] + "..."
        grid = " x ".join(str(side) for side in kernel["grid"] if side > 1) or "1"
        yield f"| `{name}` | {grid} | {kernel['per_iteration']:.1f} | {kernel['mean_us']:.0f} "
        yield f"| {kernel['max_us']:.0f} | {kernel['share']:.1%} "
        yield f"| {kernel['library'] or 'unknown'} | {ptx} |\n"
    over = sum(kernel["share"] for kernel in result["kernels"])
    yield f"\n{over:.1%} of the kernel time is in these.\n"


def driver_version():
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split("\n")[0]


def main():
    given = options()
    import torch

    trainer = train.Trainer(given)
    times = profiled(trainer, given.profiled)
    kernels = longest(times, given.profiled, given.over_us)
    major, minor = torch.cuda.get_device_capability()
    result = {
        "version": 1,
        "kind": "kernels",
        "command": shlex.join(["python3", "bench/kernels/kernels.py", *sys.argv[1:]]),
        "job": trainer.facts()["label"],
        "gpu": torch.cuda.get_device_name(),
        "driver": driver_version(),
        "torch": torch.__version__,
        "over_us": given.over_us,
        "kernels_per_iteration": sum(map(len, times.values())) / given.profiled,
        "kernel_ms_per_iteration": sum(map(sum, times.values())) / given.profiled / 1000,
        "kernels": kernels,
        "ptx_by_library": add_origin(kernels, major * 10 + minor),
    }
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    print("".join(table(result)), end="")


if __name__ == "__main__":
    main()
