"""Requests of a harness instead of HTTP: each starts at its arrival, whether or not others are under way."""

import functools
import math
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from openloop import read_arrivals, wait_until

# Token ids below are special in real vocabularies.
FIRST_WORD = 1000


class Answered:
    """One request: times of time.monotonic_ns()."""

    def __init__(self, arrival_ns):
        self.arrival_ns = arrival_ns
        self.first_ns = self.done_ns = 0
        self.tokens = 0


class Asking:
    """`prompt`: the mean number of tokens of a prompt; lengths are lognormal with a CV of 1. `tokens`: of each answer."""

    def __init__(self, engine, prompt, tokens, longest, seed):
        self.engine = engine
        self.mean = prompt
        self.tokens = tokens
        self.longest = longest - tokens
        self.seed = seed

    def prompt(self, i):
        """Request i has the same prompt in every window."""
        chance = random.Random(self.seed * 1_000_003 + i)
        spread = math.sqrt(math.log(2))
        length = round(chance.lognormvariate(math.log(self.mean) - spread**2 / 2, spread))
        words = range(FIRST_WORD, self.engine.vocabulary)
        return [chance.choice(words) for _ in range(max(1, min(length, self.longest)))]

    def ask(self, i, answered, tokens=None):
        for when, new in self.engine.generate(self.prompt(i), tokens or self.tokens, True):
            answered.done_ns = int(when * 1e9)
            answered.first_ns = answered.first_ns or answered.done_ns
            answered.tokens += len(new)


def play(asking, offsets, start_ns, still):
    """Starts each request at its arrival, as long as still() says so, and waits for all. Raises what a request raises."""
    answers, asked = [], []
    with ThreadPoolExecutor(max(1, len(offsets))) as threads:
        for i, offset in enumerate(offsets):
            arrival = start_ns + offset
            if not wait_until(arrival, still):
                break
            answers.append(Answered(arrival))
            asked.append(threads.submit(asking.ask, i, answers[-1]))
    for one in asked:
        one.result()
    latencies = [one.done_ns - one.arrival_ns for one in answers]
    return {
        "arrival_ns": [one.arrival_ns for one in answers],
        "latency_ns": latencies,
        # The engine takes a request at once, whatever it makes of it then.
        "service_ns": latencies,
        "first_ns": [one.first_ns - one.arrival_ns for one in answers],
        "tokens": [one.tokens for one in answers],
    }


def closed(asking, depth, still):
    """Send `depth` requests at a time, back to back: when each was done. Raises what a request raises."""
    done = []

    def go_on(of):
        # Lengths differ at first, or all would go on in step and be done together.
        tokens = max(1, asking.tokens * (of + 1) // depth)
        for i in range(of, 10**9, depth):
            if not still():
                break
            answered = Answered(0)
            asking.ask(i, answered, tokens)
            tokens = asking.tokens
            done.append(answered.done_ns)

    with ThreadPoolExecutor(depth) as threads:
        list(threads.map(go_on, range(depth)))
    return {"done_ns": sorted(done)}


def warm_up(asking):
    """How long a request takes alone, in seconds: the second one, because the first may compile."""
    for i in range(2):
        begin = time.monotonic()
        asking.ask(i, Answered(0))
    return time.monotonic() - begin


def directed(control, asking, depth, facts):
    alone = warm_up(asking)
    # A harness takes the mean time from one completion to the next, not the median, and watches for several requests.
    control.ready(**facts, batches=True, calibration_s=4 * alone)
    lock = threading.Lock()

    def looked(phase):
        with lock:
            return control.still(phase)

    for phase in control.phases():
        still = functools.partial(looked, phase)
        if phase.arrivals is None:
            answer = closed(asking, depth, still)
        else:
            answer = play(asking, read_arrivals(phase.arrivals), phase.start_ns, still)
        control.report(phase, **answer)
