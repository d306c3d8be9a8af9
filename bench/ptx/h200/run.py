"""Kernels and their variants on a GPU: python3 bench/ptx/h200/run.py PLAN_FOLDER OUT.json [--seconds N] [--times]

Builds runner.cpp, lets it work through the plan that corpus.ts or captured.ts made, starts it again behind a kernel that
ended it, and writes one JSON and a summary. What each figure is, runner.cpp says where it measures it.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FLAG_TARGET_US = 20


def said(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=20).stdout.strip()
    except OSError:
        return ""


def build(folder):
    cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    runner = os.path.join(folder, "runner")
    words = ["g++", "-O2", "-std=c++17", f"-I{cuda}/include", os.path.join(HERE, "runner.cpp"), "-o", runner]
    # Where there is a driver there need not be the file that linkers look for.
    for library in ("-lcuda", "-l:libcuda.so.1"):
        if subprocess.run([*words, f"-L{cuda}/lib64", f"-L{cuda}/lib64/stubs", library]).returncode == 0:
            return runner
    sys.exit("The runner can't be built: it needs g++, cuda.h (CUDA_HOME) and libcuda.so.")


def work(runner, plan, seconds, times):
    """The runner's lines, and the names of kernels at which it ended."""
    ends = time.monotonic() + seconds
    lines = os.path.join(os.path.dirname(runner), "lines")
    first, ended = 0, []
    while time.monotonic() < ends - 1:
        left = ends - time.monotonic()
        words = [runner, plan, str(first), f"{left:.1f}", lines, *(["times"] if times else [])]
        try:
            status = subprocess.run(words, stdout=subprocess.DEVNULL, timeout=left + 12).returncode
        except subprocess.TimeoutExpired:
            status = -1
        found = read(lines)
        begun = [one for one in found if "began" in one]
        if status == 0 or not begun or begun[-1]["began"] < first:
            break
        stage = next((one["stage"] for one in reversed(found) if "stage" in one), "")
        fault = found[-1].get("fault", f"ended with status {status}, {stage}")
        ended.append({"name": begun[-1]["name"], "why": fault})
        print(f"{begun[-1]['name']}: {fault}", flush=True)
        first = begun[-1]["began"] + 1
    return [one for one in read(lines) if "uses" in one], ended


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else None


def rounded(value, digits=3):
    return None if value is None else round(value, digits)


def shares(kernels, of):
    """Median, 90th percentile and worst of `of(kernel) / original`; None where a kernel has none."""
    found = [value / one["original us"] for one in kernels if (value := of(one)) is not None]
    worst = max(found, default=None)
    return {
        "kernels": len(found),
        "median": rounded(quantile(found, 0.5)),
        "p90": rounded(quantile(found, 0.9)),
        "worst": rounded(worst),
        "above 1.10": sum(share > 1.1 for share in found),
        "above 1.25": sum(share > 1.25 for share in found),
    }


def best_variant(one):
    """Variants that a launcher which tries them may use: it stops inside or between four slices."""
    times = [w["us"] for w in one.get("preempt", []) if "form" not in w] + [
        one[which] for which in ("slice in four us",) if which in one
    ]
    return min(times, default=None)


def by_block(kernels):
    """Preemption alone by how long a block is when the GPU is full."""
    found = {}
    for low, high in ((0, 2), (2, 4), (4, 10), (10, float("inf"))):
        some = [one for one in kernels if one["long"] and low <= one["longest block under load us"] < high]
        found[f"{low} us and more"] = shares(some, lambda one: one["preempt"][0]["us"] if "preempt" in one else None)
    return found


def longest(one):
    """A block when the GPU is full, or alone if that is longer (a grid too small to fill it)."""
    return max(one["longest block us"], one["longest block under load us"])


def summary(kernels, corpus):
    own = [one for one in kernels if one["name"].startswith(f"{corpus}/")]
    checked = [one[which] for one in own for which in ("small", "large") if which in one]
    held = [one["preempt uses"]["blocks"] / max(1, one["uses"]["blocks"]) for one in own if "preempt uses" in one]
    stopped = [(t, one) for one in own for t in one.get("turnaround us", [])]
    beyond = {
        one["name"]: p99 - longest(one)
        for one in own
        if (p99 := quantile(one.get("turnaround us", []), 0.99)) is not None
    }
    result = {
        "corpus": corpus,
        "kernels": len(own),
        "not reproducible": [one["name"] for one in own if one.get("repeats") is False],
        "as another assembler's code": [
            one["as the given machine code"] for one in own if "as the given machine code" in one
        ],
        "runs compared": sum(one["runs"] for one in checked),
        "resumed launches": sum(one["resumed"] for one in checked),
        "compared on long grids": sum("large" in one for one in own),
        "differences": sum(len(one["differences"]) for one in checked),
    }
    for made in ("more data", "repeated", "no"):
        lasting = [one for one in own if one["long"] and one["made long"] == made]
        if not lasting:
            continue
        result[f"alone, made long: {made}"] = {
            "preempt": shares(lasting, lambda one: one["preempt"][0]["us"] if "preempt" in one else None),
            "preempt, best workers": shares(
                lasting,
                lambda one: min(w["us"] for w in one["preempt"] if "form" not in w) if "preempt" in one else None,
            ),
            "slice whole": shares(lasting, lambda one: one.get("slice whole us")),
            "slice in four": shares(lasting, lambda one: one.get("slice in four us")),
            "best variant": shares(lasting, best_variant),
        }
    return {
        **result,
        "occupancy kept": {"median": rounded(quantile(held, 0.5)), "least": rounded(min(held, default=None))},
        "turnaround us": {
            "stops": len(stopped),
            **{f"p{q}": rounded(quantile([t for t, _ in stopped], q / 100), 1) for q in (50, 90, 99, 100)},
            "less the longest block, p99": rounded(quantile([t - longest(one) for t, one in stopped], 0.99), 1),
            "less the longest block alone, p99": rounded(
                quantile([t - one["longest block us"] for t, one in stopped], 0.99), 1
            ),
            "kernels": len(beyond),
            "kernels with p99 beyond block + 20 us": sorted(
                name for name, late in beyond.items() if late > FLAG_TARGET_US
            ),
        },
    }


def other_forms(kernels):
    """Each preemptible form by corpus, where the plan names others: times, and how late stops were."""
    found = {}
    labels = sorted({w.get("form", "") for one in kernels for w in one.get("preempt", [])})
    for corpus in sorted({one["name"].split("/")[0] for one in kernels}) if len(labels) > 1 else []:
        own = [one for one in kernels if one["name"].startswith(f"{corpus}/") and "preempt" in one]
        for label in labels:
            form = {one["name"]: next(w for w in one["preempt"] if w.get("form", "") == label) for one in own}
            stops = {one["name"]: form[one["name"]]["turnaround us"] if label else one["turnaround us"] for one in own}
            late = [quantile(stops[one["name"]], 0.99) - longest(one) for one in own if stops[one["name"]]]
            found[f"{corpus}, {label or 'this'}"] = {
                **shares([one for one in own if one["long"]], lambda one, form=form: form[one["name"]]["us"]),
                "p99 less the block, us, median": rounded(quantile(late, 0.5), 1),
                "kernels that stopped": len(late),
                "beyond block + 20 us": sum(us > FLAG_TARGET_US for us in late),
            }
    return found


def machine():
    gpu = said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    nvcc = re.search(r"release ([\d.]+)", said("nvcc", "--version"))
    return {"gpu": gpu, "cuda": nvcc.group(1) if nvcc else "", "kernel": platform.release(), "cores": os.cpu_count()}


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("plan")
    words.add_argument("out")
    words.add_argument("--seconds", type=float, default=100)
    words.add_argument("--times", action="store_true", help="compare nothing, measure only")
    words.add_argument("--commit", default=os.environ.get("COTENANT_COMMIT", ""))
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kernels, ended = work(build(folder), given.plan, given.seconds, given.times)
    kernels.sort(key=lambda one: one["name"])
    with open(os.path.join(given.plan, "refused.json"), encoding="utf8") as file:
        refused = json.load(file)
    corpora = sorted({one["name"].split("/")[0] for one in kernels})
    result = {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": given.commit or said("git", "rev-parse", "HEAD"),
        "command": f"python3 bench/ptx/h200/run.py PLAN OUT --seconds {given.seconds:g}",
        "machine": machine(),
        "summary": [summary(kernels, corpus) for corpus in corpora],
        "preempt alone, by its block": by_block(kernels),
        **({"forms": forms} if (forms := other_forms(kernels)) else {}),
        "ended by": ended,
        **refused,
        "kernels": kernels,
    }
    with open(given.out, "w", encoding="utf8") as file:
        file.write(json.dumps(result, indent=1) + "\n")
    for name, value in result.get("forms", {}).items():
        print(f"{name}: {value}")
    for one in result["summary"]:
        for name, value in one.items():
            if isinstance(value, dict) and name.startswith("alone"):
                for variant, found in value.items():
                    print(f"{name}: {variant}: {found}")
            else:
                print(f"{name}: {value}")
        print()
    for one in kernels:
        for which in ("small", "large"):
            for difference in one.get(which, {}).get("differences", []):
                print(f"DIFFERS {one['name']} ({which}): {difference}")
    slow = [
        (one["preempt"][0]["us"] / one["original us"], one["name"])
        for one in kernels
        if "preempt" in one and one["long"]
    ]
    for share, name in sorted(slow, reverse=True)[:12]:
        print(f"{share:.2f} {name}")
    return 0 if kernels else 1


if __name__ == "__main__":
    sys.exit(main())
