"""How a best-effort loop is led: by itself for a time or a number of iterations, or directed by a harness,
which says when to iterate and when to stand still.

A job is a Job with facts() about itself, a "label" among them.
"""

import functools
import sys
import time
import typing

from control import Control

WARM_UP = 3


class GpuClock:
    """Host times of events on the GPU.

    Every event is read at the end against one whose host time is known: no wait that the loop would not
    have without being watched.
    """

    def __init__(self, record, elapsed_ms):
        """record() leaves an event behind; elapsed_ms(a, b) is the time between two that are done."""
        self._elapsed_ms = elapsed_ms
        self._base = record()
        self._base.synchronize()
        self._base_ns = time.monotonic_ns()

    def ns(self, event):
        return self._base_ns + int(self._elapsed_ms(self._base, event) * 1e6)


class Job:
    """Iterations on a stream, back to back.

    A kind of job has step(), which submits one iteration; event(), which leaves a timed event behind it;
    elapsed_ms(a, b), the time between two that are done; and synchronize(), which waits for the stream and for
    nothing else, because another thread may have work of its own.
    """

    warm_ups = WARM_UP

    def step(self):
        raise NotImplementedError

    def event(self):
        raise NotImplementedError

    def elapsed_ms(self, begin, end):
        raise NotImplementedError

    def synchronize(self):
        raise NotImplementedError

    def warm_up(self):
        for _ in range(self.warm_ups):
            self.step()
        self.synchronize()

    def iterate(self, more):
        """Iterates as long as more() says so; what is reported, with when each iteration was done on the GPU."""
        self.synchronize()
        clock = GpuClock(self.event, self.elapsed_ms)
        done = []
        while more():
            self.step()
            done.append(self.event())
        self.synchronize()
        return {"done_ns": [clock.ns(event) for event in done], **self.observed(clock)}

    def observed(self, clock):
        """Further values that are reported with these iterations."""
        return {}


class TorchJob(Job):
    """One on PyTorch's current stream. `torch` is the module."""

    torch: typing.Any

    def event(self):
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def elapsed_ms(self, begin, end):
        return begin.elapsed_time(end)

    def synchronize(self):
        self.torch.cuda.current_stream().synchronize()


def add_options(parser, name):
    add = parser.add_argument
    add("--sync-every", type=int, default=10, help="iterations; 0 = never")
    add("--iterations", type=int, help="stop after so many")
    add("--seconds", type=float, default=10.0)
    add("--seed", type=int, default=1)
    add("--times", help="write the time each iteration was done, ns, one a line")
    add("--control", help="directory of a harness")
    add("--name", default=name, help="what the harness calls this job")


def run(job, given, warm_up=True):
    if warm_up:
        job.warm_up()
    facts = job.facts()
    print(f"{facts['label']} ready", file=sys.stderr, flush=True)
    if given.control:
        directed(Control(given.control, given.name), job.iterate, facts)
    else:
        alone(job.iterate, given)


def directed(control, iterate, facts):
    control.ready(**facts)
    for phase in control.phases():
        control.report(phase, **iterate(functools.partial(control.still, phase)))


def alone(iterate, given):
    end = time.monotonic() + given.seconds
    left = iter(range(given.iterations)) if given.iterations is not None else None

    def more():
        return time.monotonic() < end if left is None else next(left, None) is not None

    times = iterate(more)["done_ns"]
    if given.times:
        with open(given.times, "w", encoding="utf-8") as file:
            file.writelines(f"{ns}\n" for ns in times)
    if len(times) > 1:
        rate = (len(times) - 1) / (times[-1] - times[0]) * 1e9
        print(f"iterations {len(times)}, {rate:.4f} a second", flush=True)
