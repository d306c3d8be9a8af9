"""When does a best-effort client's time slice end? slices.py OUTDIR RESULT.json, OUTDIR as slow-bursts.sh left it.

Of the bursts that found a kernel under way, those at which it was put off in its middle: how many, what they paid beyond the
rest of the kernel, and at what time since the last burst was over, when the best-effort client's slice began. RESULT.json
says of which machine and code, as OUTDIR/slow-bursts.json does.
"""

import csv
import json
import sys
from pathlib import Path
from statistics import median

from slow_bursts import CUT, quantile

# A kernel with less left hardly meets the end of a slice.
LEFT_US = 50
# Lengths of a slice that are tried, us, and into how many parts each is divided.
PERIODS = range(1900, 2301, 10)
PARTS = 10


def met(path):
    """(us since the last burst was over, whether cut, what it took longer than usual beyond what was left)."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shared = [row for row in rows if row["announced"] == "0"]
    usual = median(float(row["us"]) for row in rows if row["announced"] == "1")
    for before, row in zip(shared, shared[1:], strict=False):
        left, stopped = float(row["leftUs"]), float(row["stoppedUs"] or 0)
        if left <= LEFT_US or stopped == 0:
            continue
        since = int(row["atUs"]) - int(before["atUs"]) - float(before["us"])
        yield since, stopped > left + CUT, float(row["us"]) - usual - left


def parts_of(cuts, period):
    """Cut bursts by where in a slice of that length they came."""
    parts = [0] * PARTS
    for since, _, _ in cuts:
        parts[int(since % period * PARTS / period)] += 1
    return parts


def row_of(path):
    found = list(met(path))
    cuts = [one for one in found if one[1]]
    whole = [one for one in found if not one[1]]
    row = {"pair": path.stem, "met": len(found), "cut": len(cuts)}
    for name, some in (("cut", cuts), ("whole", whole)):
        beyond = [one[2] for one in some]
        row[f"{name}BeyondLeftUs"] = {f"p{q}": round(quantile(beyond, q / 100), 1) for q in (10, 50, 90) if beyond}
    if cuts:
        # The middle one of the lengths by which they come closest together.
        most = max(max(parts_of(cuts, period)) for period in PERIODS)
        best = [period for period in PERIODS if max(parts_of(cuts, period)) == most]
        period = best[len(best) // 2]
        row |= {"sliceUs": period, "cutByPart": parts_of(cuts, period), "metByPart": parts_of(found, period)}
    return row


def main():
    folder, result = Path(sys.argv[1]), Path(sys.argv[2])
    measured = json.loads((folder / "slow-bursts.json").read_text(encoding="utf-8"))
    rows = [row_of(path) for path in sorted(folder.glob("*.csv"))]
    document = {**measured, "command": f"{measured['command']}; bench/live/slices.py OUTDIR", "rows": rows}
    result.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
