"""The table of vllm-objectives.sh: python3 bench/engine/vllm_objectives.py OUTDIR RATE.

For each run: TTFT and TPOT, how many windows of 10 s and of 1 s (by arrival) have a p99 above a limit, and the training's
throughput from its own log ("<monotonic ns> step <steps so far> ..."), as a part of that beside the idle engine: --idle steps/s. --json FILE
writes the same, and what the run without an objective has to the run alone.
"""

import argparse
import json
import math
import random
import re
from pathlib import Path

WINDOW_S = 10
KINDS = {"ttft": "ttftMs", "tpot": "tpotMs"}
PARTS = (0.5, 0.9, 0.99)
DRAWS = 2000


def quantile(values, part):
    """The smallest value with at least this part of all at or below it; NaN without values."""
    ordered = sorted(values)
    return ordered[math.ceil(part * len(ordered)) - 1] if ordered else math.nan


def requests_of(path):
    with open(path, encoding="utf8") as lines:
        return [json.loads(line) for line in lines]


def broken_windows(requests, limits, seconds, window_s=WINDOW_S):
    """How many windows there are, and how many have a p99 above a limit. The last one may be shorter."""
    starts = range(0, max(window_s, int(seconds)), window_s)
    windows = [[one for one in requests if start <= one["atS"] < start + window_s] for start in starts]
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


def values_of(requests, key):
    return [one[key] for one in requests if one.get(key) is not None]


def over(plain, alone, key):
    """For each part the ratio of the quantiles of two runs with the same requests, and its 90 % bootstrap interval (percentiles
    of 2,000 draws of requests, the same ones of both runs)."""
    pairs = [(one[key], other[key]) for one, other in zip(plain, alone) if None not in (one.get(key), other.get(key))]
    chance = random.Random(1)

    def ratios(drawn):
        both = list(zip(*drawn))
        return [quantile(both[0], part) / quantile(both[1], part) for part in PARTS]

    draws = [ratios(chance.choices(pairs, k=len(pairs))) for _ in range(DRAWS)]
    bounds = [[quantile(column, part) for part in (0.05, 0.95)] for column in zip(*draws)]
    return {str(part): [ratio, *bound] for part, ratio, bound in zip(PARTS, ratios(pairs), bounds)}


def runs_of(out, rate, omit_s):
    limits = limits_of(out / f"{rate}.limits")
    training = out / "training.log"
    log = steps_of(training) if training.exists() else []
    for path in sorted(out.glob(f"{rate}-[a-z]*.requests")):
        requests = requests_of(path)
        begin, end = (int(line) / 1e9 for line in path.with_suffix(".window").read_text("utf8").split())
        seconds = max(one["atS"] for one in requests)
        windows, broken = broken_windows(requests, limits, seconds)
        yield {
            "run": path.stem.removeprefix(f"{rate}-"),
            "requests": len(requests),
            **{key: {str(part): quantile(values_of(requests, key), part) for part in PARTS} for key in KINDS.values()},
            "windows": windows,
            "broken": broken,
            "brokenSeconds": broken_windows(requests, limits, seconds + 1, 1)[1],
            "trainingStepsPerS": steps_per_s(log, begin + omit_s, end),
        }


def table(runs, idle):
    print("run              n   TTFT p50  p90   p99   TPOT p50  p90   p99   broken   of 1 s   training/s   part")
    for run in runs:
        rate = run["trainingStepsPerS"]
        part = rate / idle if rate is not None and idle else math.nan
        times = " ".join(f"{figure:7.2f}" for key in KINDS.values() for figure in run[key].values())
        windows = f"{run['broken']}/{run['windows']}   {run['brokenSeconds']:6}"
        print(f"{run['run']:15} {run['requests']:4} {times}   {windows}   {rate or math.nan:.3f}   {part:.3f}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("rate")
    arguments.add_argument("--idle", type=float, help="the training's steps per second beside the idle engine")
    arguments.add_argument(
        "--omit", type=float, default=15, help="seconds of a run in which the training's steps do not count"
    )
    arguments.add_argument("--json", type=Path, help="a file for the figures")
    given = arguments.parse_args()
    limits = limits_of(given.out / f"{given.rate}.limits")
    runs = list(runs_of(given.out, given.rate, given.omit))
    print(f"limits: {limits}")
    table(runs, given.idle)
    if given.json:
        plain, alone = (given.out / f"{given.rate}-{name}.requests" for name in ("plain", "alone"))
        ratios = None
        if plain.exists():
            ratios = {key: over(requests_of(plain), requests_of(alone), key) for key in KINDS.values()}
        rate = given.rate if "-" in given.rate else float(given.rate)
        figures = {"rate": rate, "limitsMs": limits, "runs": runs, "plainOverAlone": ratios}
        given.json.write_text(json.dumps(figures, indent=1) + "\n", "utf8")


if __name__ == "__main__":
    main()
