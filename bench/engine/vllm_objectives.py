"""The table of vllm-objectives.sh: python3 bench/engine/vllm_objectives.py OUTDIR RATE.

For each run: TTFT and TPOT, how many windows of 10 s (by arrival) have a p99 above a limit, and the training's throughput from
its own log ("<monotonic ns> step <steps so far> ..."), as a part of that beside the idle engine: --idle steps/s.
"""

import argparse
import json
import math
import re
from pathlib import Path

WINDOW_S = 10
KINDS = {"ttft": "ttftMs", "tpot": "tpotMs"}


def quantile(values, part):
    """The smallest value with at least this part of all at or below it; NaN without values."""
    ordered = sorted(values)
    return ordered[math.ceil(part * len(ordered)) - 1] if ordered else math.nan


def requests_of(path):
    with open(path, encoding="utf8") as lines:
        return [json.loads(line) for line in lines]


def broken_windows(requests, limits, seconds):
    """How many windows there are, and how many have a p99 above a limit. The last one may be shorter."""
    starts = range(0, max(WINDOW_S, int(seconds)), WINDOW_S)
    windows = [[one for one in requests if start <= one["atS"] < start + WINDOW_S] for start in starts]
    filled = [window for window in windows if window]
    broken = [
        window
        for window in filled
        if any(
            quantile([one[KINDS[kind]] for one in window if one.get(KINDS[kind]) is not None], 0.99) > limit
            for kind, limit in limits.items()
        )
    ]
    return len(filled), len(broken)


def limits_of(path):
    return {kind: float(ms) for kind, ms in re.findall(r"(\w+)\.p99=([\d.]+)ms", Path(path).read_text("utf8"))}


def steps_of(path):
    """(monotonic s, steps so far) for each line of the training's log."""
    rows = re.findall(r"^(\d+) step (\d+) ", Path(path).read_text("utf8"), re.MULTILINE)
    return [(int(ns) / 1e9, int(steps)) for ns, steps in rows]


def steps_per_s(log, begin, end):
    """Steps per second between two times of the log that lie within the window; None if there are none."""
    inside = [row for row in log if begin <= row[0] <= end]
    if len(inside) < 2:
        return None
    (first, before), (last, after) = inside[0], inside[-1]
    return (after - before) / (last - first)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("rate")
    arguments.add_argument("--idle", type=float, help="the training's steps per second beside the idle engine")
    arguments.add_argument(
        "--omit", type=float, default=15, help="seconds of a run in which the training's steps do not count"
    )
    given = arguments.parse_args()
    limits = limits_of(given.out / f"{given.rate}.limits")
    training = given.out / "training.log"
    log = steps_of(training) if training.exists() else []
    print(f"limits: {limits}")
    print("run              n   TTFT p50  p90   p99   TPOT p50  p90   p99   broken   training/s   part")
    for path in sorted(given.out.glob(f"{given.rate}-[a-z]*.requests")):
        requests = requests_of(path)
        begin, end = (int(line) / 1e9 for line in path.with_suffix(".window").read_text("utf8").split())
        windows, broken = broken_windows(requests, limits, max(one["atS"] for one in requests))
        figures = [
            quantile([one[key] for one in requests if one.get(key) is not None], part)
            for key in KINDS.values()
            for part in (0.5, 0.9, 0.99)
        ]
        rate = steps_per_s(log, begin + given.omit, end)
        part = rate / given.idle if rate is not None and given.idle else math.nan
        name = path.stem.removeprefix(f"{given.rate}-")
        times = " ".join(f"{figure:7.2f}" for figure in figures)
        print(f"{name:15} {len(requests):4} {times}   {broken}/{windows}   {rate or math.nan:.3f}   {part:.3f}")


if __name__ == "__main__":
    main()
