"""The figures of a pair, from the times of its requests and iterations."""

import math
import random
from bisect import bisect_right

BLOCK = 25
RESAMPLES = 400


def quantile(values, q):
    """Nearest rank."""
    ordered = sorted(values)
    return ordered[max(math.ceil(q * len(ordered)) - 1, 0)] if ordered else math.nan


def progress(done_ns, t):
    """Iterations done by time t, with the fraction of the one under way."""
    k = bisect_right(done_ns, t)
    if k == 0 or k == len(done_ns):
        return float(k)
    return k + (t - done_ns[k - 1]) / (done_ns[k] - done_ns[k - 1])


def rate(done_ns, start_ns, end_ns):
    """Iterations a second between two times."""
    return (progress(done_ns, end_ns) - progress(done_ns, start_ns)) / (end_ns - start_ns) * 1e9


def _ratio(pairs, q):
    solo = quantile([solo for solo, _ in pairs], q)
    return quantile([other for _, other in pairs], q) / solo if pairs and solo > 0 else math.nan


def _blocks(rounds):
    """Requests queue behind each other: neighbours are resampled together."""
    return [pairs[i : i + BLOCK] for pairs in rounds for i in range(0, len(pairs), BLOCK)]


def _middle(values):
    """The middle 95 % of them."""
    return {"low": quantile(values, 0.025), "high": quantile(values, 0.975)}


def slowdown(rounds, q, seed=1):
    """Ratio of a quantile, pooled over rounds, with a 95 % bootstrap interval.

    `rounds` holds, for each round, (solo, other) of each request: both saw the same arrivals.
    """
    chance = random.Random(seed)
    blocks = _blocks(rounds)
    drawn = []
    for _ in range(RESAMPLES if len(blocks) > 1 else 0):
        drawn.append(_ratio([p for _ in blocks for p in chance.choice(blocks)], q))
    value = _ratio([pair for pairs in rounds for pair in pairs], q)
    return {
        "value": value,
        **_middle(drawn or [value]),
        "rounds": [_ratio(pairs, q) for pairs in rounds],
    }


def mean_ratio(rounds, seed=1):
    """Mean over rounds of the second over that of the first; the interval resamples rounds."""

    def ratio(chosen):
        below = sum(first for first, _ in chosen)
        return sum(second for _, second in chosen) / below if below > 0 else math.nan

    chance = random.Random(seed)
    drawn = [ratio([chance.choice(rounds) for _ in rounds]) for _ in range(RESAMPLES)]
    return {"value": ratio(rounds), **_middle(drawn), "rounds": [ratio([r]) for r in rounds]}
