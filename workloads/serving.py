"""How requests come to a service: by itself (a rate, a file of arrivals, or back to back), or directed by a
harness, which hands it arrivals or none for a closed loop.

A service is one function: serve(i) does request i and returns when the answer is there. It may return when it had
submitted everything and began to wait (monotonic ns).
"""

import ctypes
import functools
import json
import time

from control import Control
from openloop import always, closed, play, poisson, read_arrivals

WARM_UP = 20


def add_options(parser, name):
    add = parser.add_argument
    add("--rate", type=float, help="requests per second; without it, back to back")
    add("--arrivals", default="poisson", help="poisson (at --rate), or file:PATH of ns offsets")
    add("--seconds", type=float, default=10.0)
    add("--requests", type=int, help="stop after so many")
    add("--seed", type=int, default=1)
    add("--announce-us", type=int, default=0, help="say so long ahead that a request will come")
    add("--json", help="write every request's times here")
    add("--control", help="directory of a harness")
    add("--name", default=name, help="what the harness calls this job")


def validate(parser, given):
    if given.arrivals != "poisson" and not given.arrivals.startswith("file:"):
        parser.error(f'arrivals "{given.arrivals}" are not known (known: poisson, file:PATH)')
    if given.rate is not None and given.rate <= 0:
        parser.error("--rate must be above 0")


def warm_up(serve, requests=WARM_UP):
    for request in range(requests):
        serve(request)


def run(serve, given, facts):
    if given.control:
        directed(Control(given.control, given.name), serve, facts)
    else:
        alone(serve, given, facts)


def directed(control, serve, facts):
    control.ready(**facts)
    for phase in control.phases():
        still = functools.partial(control.still, phase)
        if phase.arrivals is None:
            answer = closed(serve, still)
        else:
            offsets = read_arrivals(phase.arrivals)
            announce = announcer() if phase.announce_us else None
            answer = play(offsets, phase.start_ns, serve, still, announce, phase.announce_us)
        control.report(phase, **answer)


def announcer():
    """The function by which a high client says that a request is about to arrive."""
    try:
        announce = ctypes.CDLL(None).cotenant_announce
    except AttributeError:
        raise SystemExit(
            "requests are to be announced, but nothing in this process has cotenant_announce(): "
            "start it with `cotenant run --class high`"
        ) from None
    announce.argtypes, announce.restype = [ctypes.c_uint], None
    return announce


def alone(serve, given, facts):
    if given.arrivals.startswith("file:"):
        offsets = read_arrivals(given.arrivals.removeprefix("file:"))
    elif given.rate:
        offsets = poisson(given.rate, given.seconds, given.seed)
    else:
        offsets = None
    if offsets is None:
        answer = back_to_back(serve, given)
    else:
        announce = announcer() if given.announce_us else None
        start_ns = time.monotonic_ns() + 100_000_000
        answer = play(offsets[: given.requests], start_ns, serve, always, announce, given.announce_us)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({**facts, **answer}, file)
    for what in ("latency_ns", "service_ns", "waited_ns"):
        times = sorted(answer.get(what, []))
        if times:
            at = [times[int(q * (len(times) - 1))] / 1e6 for q in (0.5, 0.95, 0.99)]
            print(f"{what[:-3]} p50 p95 p99 ms: {' '.join(f'{ms:.3f}' for ms in at)}", flush=True)


def back_to_back(serve, given):
    end = time.monotonic() + given.seconds
    left = iter(range(given.requests)) if given.requests is not None else None
    start = time.monotonic_ns()
    answer = closed(
        serve,
        lambda: time.monotonic() < end and (left is None or next(left, None) is not None),
    )
    begun = [start, *answer["done_ns"][:-1]]
    took = [done - at for at, done in zip(begun, answer["done_ns"], strict=False)]
    return {**answer, "service_ns": took}
