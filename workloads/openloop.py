"""Requests that arrive when they arrive, whether or not the one before is done."""

import random
import time

# Sleeping may overshoot by a tenth of a millisecond and more: the last of it is spent spinning.
SPIN_NS = 500_000


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


def write_arrivals(path, offsets):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{offset}\n" for offset in offsets)


def wait_until(ns):
    while (left := ns - time.monotonic_ns()) > SPIN_NS:
        time.sleep((left - SPIN_NS) / 1e9)
    while time.monotonic_ns() < ns:
        pass


def play(offsets, start_ns, serve):
    """Calls serve(i) for each arrival, in order, late ones at once.

    Returns per request the arrival, and the ns from arrival to done and from start to done.
    """
    arrivals, latencies, services = [], [], []
    for i, offset in enumerate(offsets):
        arrival = start_ns + offset
        wait_until(arrival)
        start = time.monotonic_ns()
        serve(i)
        done = time.monotonic_ns()
        arrivals.append(arrival)
        latencies.append(done - arrival)
        services.append(done - start)
    return {"arrival_ns": arrivals, "latency_ns": latencies, "service_ns": services}


def closed(count, serve):
    """Service times in ns of `count` requests back to back."""
    times = []
    for i in range(count):
        start = time.monotonic_ns()
        serve(i)
        times.append(time.monotonic_ns() - start)
    return times


def median(values):
    return sorted(values)[(len(values) - 1) // 2]
