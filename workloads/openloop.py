"""Requests that arrive when they arrive, whether or not the one before is done; and back to back."""

import random
import time
from typing import NamedTuple

# Sleeping may overshoot by a tenth of a millisecond and more: the last of it is spent spinning.
SPIN_NS = 500_000
# A long wait looks up so often whether it is still wanted.
NAP_NS = 10_000_000
# An announced request has so long after its arrival to reach the GPU before the promise lapses.
GRACE_US = 500


class Streamed(NamedTuple):
    """An answer that came token by token."""

    # When the first one was there, by time.monotonic_ns().
    first_ns: int
    tokens: int


def poisson(rate, seconds, seed):
    """Arrival offsets in ns, fixed by the seed."""
    chance = random.Random(seed)
    offsets = []
    at = chance.expovariate(rate)
    while at < seconds:
        offsets.append(int(at * 1e9))
        at += chance.expovariate(rate)
    return offsets


def read_arrivals(path):
    with open(path, encoding="utf-8") as file:
        return [int(line) for line in file if line.strip() and not line.startswith("#")]


def always():
    return True


def wait_until(ns, still=always):
    """False as soon as it is no longer wanted."""
    while (left := ns - time.monotonic_ns()) > SPIN_NS:
        if not still():
            return False
        time.sleep(min(left - SPIN_NS, NAP_NS) / 1e9)
    wanted = still()
    while wanted and time.monotonic_ns() < ns:
        pass
    return wanted


def play(offsets, start_ns, serve, still=always, announce=None, ahead_us=0):
    """Calls serve(i) for each arrival, in order, late ones at once, as long as still() says so.

    announce(us) says that a request will be there in so many microseconds. It is called `ahead_us` before
    an arrival, or at once if the request before ended later than that.

    Returns per request served the arrival, and the ns from arrival to done and from start to done; and where serve(i)
    returns when it began to wait for the answer, from then to done; or where it returns Streamed, from arrival to the
    first token, and the number of tokens.
    """
    arrivals, latencies, services, waits, firsts, tokens = [], [], [], [], [], []
    for i, offset in enumerate(offsets):
        arrival = start_ns + offset
        if announce:
            if not wait_until(arrival - ahead_us * 1000, still):
                break
            announce(max(0, arrival - time.monotonic_ns()) // 1000 + GRACE_US)
        if not wait_until(arrival, still):
            break
        start = time.monotonic_ns()
        told = serve(i)
        done = time.monotonic_ns()
        arrivals.append(arrival)
        latencies.append(done - arrival)
        services.append(done - start)
        if isinstance(told, Streamed):
            firsts.append(told.first_ns - arrival)
            tokens.append(told.tokens)
        elif told is not None:
            waits.append(done - told)
    played = {"arrival_ns": arrivals, "latency_ns": latencies, "service_ns": services}
    if firsts:
        return {**played, "first_ns": firsts, "tokens": tokens}
    return {**played, "waited_ns": waits} if waits else played


def closed(serve, still):
    """Requests back to back: when each was done."""
    done = []
    while still():
        serve(len(done))
        done.append(time.monotonic_ns())
    return {"done_ns": done}
