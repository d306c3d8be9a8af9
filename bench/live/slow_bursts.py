"""Why were the slowest bursts slow? slow_bursts.py NAME=DIARY[,DIARY]... [--share 0.03]: rows of JSON, a table on stderr.

DIARY is what a best-effort client wrote under COTENANT_CHUNKS (native/interposer/best_effort/chunk_log.h). For each burst of the high
client: when the hold word was stored, what the best-effort client had on the GPU then, how long that was going to take, when
the GPU stopped at the next border, and how much longer than usual the burst took. Bursts that were announced found nothing
under way; they are the floor.
"""

import argparse
import csv
import json
import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from statistics import median

from diary import LATE_HOLD, Client

# Microseconds. A context is changed in 140 us; a border takes 3.
CHANGE = 200
# Work that is put off when its time slice ends stops a slice later: 2,100 us, or when a shorter request is over.
CUT = 1000
# Between its own start and its requests a service is silent for longer than this.
SILENCE = 2_000_000
# Bins of what was left of what was under way.
LEFT = [0, 25, 50, 100, 200, 400, 800, 1600]


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else None


def cause(burst):
    """One of a few, in this order."""
    if burst.unseen:
        return "not seen: the watching thread was away"
    if burst.hold_us > LATE_HOLD:
        return "hold stored late"
    if not burst.under_way:
        return "nothing under way"
    if burst.passed > 0:
        return "more than one chunk let through"
    if burst.stopped_us is not None and burst.stopped_us > burst.left_us + CUT:
        return "put off in its middle by the time slice"
    if burst.typical_us > 1.5 * burst.planned_us:
        if burst.launches == 1:
            return "one undividable launch"
        return "chunk longer than planned"
    if burst.stopped_us is not None and burst.stopped_us > burst.left_us + CHANGE:
        return "stopped late"
    return "stopped in time, yet slow"


def served(bursts):
    """Without what a service did before its first request and after its last: silences tell them apart."""
    for number in {burst.client for burst in bursts}:
        own = [burst for burst in bursts if burst.client == number]
        parts = [[]]
        for before, burst in zip([None, *own], own, strict=False):
            if before and burst.begun - before.ended > SILENCE * 1000:
                parts.append([])
            parts[-1].append(burst)
        yield from parts[min(1, len(parts) - 1)]


def rows_of(name, paths, share, every):
    clients = [Client(path) for path in paths]
    runs = [run for client in clients for run in client.runs]
    all_bursts = [
        burst
        for burst in sorted(served(clients[0].diary.bursts), key=lambda burst: burst.begun)
        if any(client.diary.at_work(burst.begun) for client in clients)
    ]
    for burst in all_bursts:
        for client in clients:
            client.look(burst)
    if every:
        write_all(every, all_bursts)
    floor = [burst for burst in all_bursts if burst.announced]
    shared = [burst for burst in all_bursts if not burst.announced]
    if len(shared) < 20:
        raise SystemExit(f"{name}: only {len(shared)} bursts.")
    usual = median(burst.us for burst in shared)
    p99 = quantile([burst.us for burst in shared], 0.99)
    yield {
        "pair": name,
        "bursts": len(shared),
        "announced": len(floor),
        "recordsLost": sum(client.diary.lost for client in clients),
        "chunksTimed": sum(run.surely for run in runs),
        "resumeUs": [round(run.resume_us, 1) for run in runs],
        "plannedUs": median(burst.planned_us for burst in shared),
        "p50Us": usual,
        "p90Us": quantile([burst.us for burst in shared], 0.9),
        "p99Us": p99,
        "floorP50Us": quantile([burst.us for burst in floor], 0.5),
        "floorP99Us": quantile([burst.us for burst in floor], 0.99),
        "holdP99Us": quantile([burst.hold_us for burst in shared if not burst.held], 0.99),
        "heldAlready": sum(burst.held for burst in shared),
        "underWay": sum(burst.under_way for burst in shared),
    }
    yield from by_cause(name, shared, usual, p99, share)
    yield from by_left(name, shared, usual)
    yield from slowest(name, clients, shared, usual, share)


def by_cause(name, shared, usual, p99, share):
    slow = sorted(shared, key=lambda burst: -burst.us)[: max(1, round(share * len(shared)))]
    all_causes = Counter(map(cause, shared))
    groups = defaultdict(list)
    for burst in slow:
        groups[cause(burst)].append(burst)
    for why, bursts in sorted(groups.items(), key=lambda group: -len(group[1])):
        rest = [usual if cause(burst) == why else burst.us for burst in shared]
        yield {
            "pair": name,
            "slowest": share,
            "cause": why,
            "bursts": len(bursts),
            "ofAllBursts": all_causes[why],
            "longerP50Us": median(burst.us - usual for burst in bursts),
            "longestUs": max(burst.us - usual for burst in bursts),
            "chunkExpectedP50Us": median(burst.expected_us for burst in bursts),
            "chunkTookP50Us": median(burst.typical_us for burst in bursts),
            "leftP50Us": median(burst.left_us for burst in bursts),
            "stoppedP50Us": median(burst.stopped_us or 0 for burst in bursts),
            "p99UsWithout": quantile(rest, 0.99),
            "p99Us": p99,
            "what": Counter(burst.what for burst in bursts if burst.what).most_common(6),
        }


def by_left(name, shared, usual):
    bins = defaultdict(list)
    for burst in shared:
        bins[
            LEFT[bisect_left(LEFT, burst.left_us)] if burst.left_us <= LEFT[-1] else 9999 if burst.under_way else 0
        ].append(burst)
    for upto, bursts in sorted(bins.items()):
        longer = [burst.us - usual for burst in bursts]
        stopped = [burst.stopped_us for burst in bursts if burst.stopped_us is not None]
        yield {
            "pair": name,
            "leftUptoUs": upto,
            "bursts": len(bursts),
            "longerP50Us": quantile(longer, 0.5),
            "longerP90Us": quantile(longer, 0.9),
            "longerP99Us": quantile(longer, 0.99),
            "longestUs": max(longer),
            "stoppedP50Us": quantile(stopped, 0.5),
            "stoppedP99Us": quantile(stopped, 0.99),
        }


def facts(burst):
    return {
        "us": burst.us,
        "cause": cause(burst),
        "holdUs": burst.hold_us,
        "launches": burst.launches,
        "expectedUs": burst.expected_us,
        "tookUs": burst.typical_us,
        "leftUs": burst.left_us,
        "stoppedUs": burst.stopped_us,
        "passed": burst.passed,
        "what": burst.what,
    }


def slowest(name, clients, shared, usual, share):
    for burst in sorted(shared, key=lambda burst: -burst.us)[: max(1, round(share * len(shared)))]:
        timeline = sorted(moment for client in clients for moment in around(client, burst))
        yield {"pair": name, "longerUs": burst.us - usual, **facts(burst), "timelineUs": timeline[:60]}


def around(client, burst):
    """Marks and holds from shortly before the burst until shortly after it, in us from its beginning."""
    begin, end = burst.begun - 400_000, burst.ended + 400_000
    at = client.diary.hold_at
    for when, value in client.diary.holds[bisect_left(at, begin) : bisect_right(at, end)]:
        yield round((when - burst.begun) / 1000), "hold" if value else "open"
    for run in client.runs:
        for when, number in run.marks[bisect_left(run.at, begin) : bisect_right(run.at, end)]:
            chunk = run.stream.chunks[run.stream.by_border[number]]
            what = f"{len(chunk.launches)}: {run.typical_us(chunk):.0f}"
            yield round((when - burst.begun) / 1000), what


def write_all(path, bursts):
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = [{"atUs": burst.begun // 1000, "announced": int(burst.announced), **facts(burst)} for burst in bursts]
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows({k: round(v, 1) if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def short(value):
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="slow_bursts.py", description=__doc__)
    parser.add_argument("diaries", nargs="+", metavar="NAME=DIARY[,DIARY...]")
    parser.add_argument("--share", type=float, default=0.03, help="of the bursts, the slowest")
    parser.add_argument("--all", metavar="CSV", help="write every burst here")
    given = parser.parse_args(argv)
    for each in given.diaries:
        name, _, path = each.rpartition("=")
        for row in rows_of(name or path, path.split(","), given.share, given.all):
            rounded = {k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()}
            print(json.dumps(rounded))
            if "timelineUs" not in row:
                print("  ".join(f"{k} {short(v)}" for k, v in row.items()), file=sys.stderr)


if __name__ == "__main__":
    main()
