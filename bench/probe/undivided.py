"""undivided.py FOLDER: a row of JSON for each FOLDER/SHAPE:US.marks, what its bursts took longer than those of alone.marks."""

import json
import sys
from pathlib import Path


def bursts_us(marks):
    rows = [line.split() for line in marks.read_text().splitlines() if not line.startswith("#")]
    return sorted((int(done) - int(start)) / 1000 for _, start, done in rows)


def at(values, quantile):
    return values[min(len(values) - 1, int(quantile * len(values)))]


folder = Path(sys.argv[1])
alone = bursts_us(folder / "alone.marks")
median = at(alone, 0.5)
print(json.dumps({"alone": {"requests": len(alone), "p50Us": median, "maxUs": alone[-1]}}))
for marks in sorted(folder.glob("*:*.marks")):
    shape, us = marks.stem.split(":")
    bursts = bursts_us(marks)
    quantiles = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1}
    # A kernel and one change of contexts (140 us) explain this much.
    explained = median + int(us) + 200
    row = {
        "shape": shape,
        "kernelUs": int(us),
        "requests": len(bursts),
        "longerByUs": {name: round(at(bursts, q) - median, 1) for name, q in quantiles.items()},
        "shareBeyondKernelAnd200Us": round(sum(b > explained for b in bursts) / len(bursts), 4),
    }
    print(json.dumps(row))
