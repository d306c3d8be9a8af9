"""One row of JSON: of an engine's stages how long each took and what a training kept in it (engine_start.py NAME DIR).

DIR has `stages` and `requests` of workloads/engine.py and, but for an engine alone, `train`: when each iteration was done.
What was kept is the iterations done in a stage, of those done in the same time before the engine began.
"""

import bisect
import json
import os
import sys


def read_stages(path):
    """Name, begin and end of each stage, ns."""
    with open(path, encoding="utf-8") as file:
        ends = [(name, int(ns)) for name, ns in (line.split() for line in file)]
    return [(name, before, at) for (_, before), (name, at) in zip(ends, ends[1:], strict=False)]


def iterations_between(done, begin, end):
    """How many iterations fall between two moments; one that spans a moment counts by its part."""

    def count(at):
        i = bisect.bisect_right(done, at)
        if i == 0 or i == len(done):
            return max(0, i - 1)
        return i - 1 + (at - done[i - 1]) / (done[i] - done[i - 1])

    return count(end) - count(begin)


def kept_by_stage(stages, done):
    begin = stages[0][1]
    alone = iterations_between(done, done[0], begin) / (begin - done[0])
    return {
        name: round(iterations_between(done, start, end) / ((end - start) * alone), 3) for name, start, end in stages
    }


def quantiles(times):
    times = sorted(times)
    return [round(times[int(q * (len(times) - 1))], 2) for q in (0.5, 0.9, 0.99)]


def main():
    name, folder = sys.argv[1:]
    stages = read_stages(os.path.join(folder, "stages"))
    row = {"arrangement": name, "seconds": {stage: round((end - at) / 1e9, 2) for stage, at, end in stages}}
    training = os.path.join(folder, "train")
    if os.path.exists(training):
        with open(training, encoding="utf-8") as file:
            row["kept"] = kept_by_stage(stages, [int(line) for line in file])
    with open(os.path.join(folder, "requests"), encoding="utf-8") as file:
        requests = json.load(file)
    row["ttftMs"] = quantiles(requests["ttft_ms"])
    row["tpotMs"] = quantiles(requests["tpot_ms"])
    print(json.dumps(row))


if __name__ == "__main__":
    main()
