"""Layer groups as CUDA graphs, launched into streams in a given order and timed on the GPU."""

import time

import torch


class Captured:
    """Consecutive groups as one CUDA graph on a stream: reads `given`, leaves `out`."""

    def __init__(self, functions, given, stream):
        def work():
            passed = given
            for function in functions:
                passed = function(passed)
            return passed

        self.given = given
        with torch.no_grad(), torch.cuda.stream(stream):
            # Once outside, so that libraries choose and load their kernels and take their workspace.
            work()
            stream.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            self.graph.capture_begin(capture_error_mode="thread_local")
            self.out = work()
            self.graph.capture_end()
            self.graph.replay()
            stream.synchronize()


class Step:
    def __init__(self, item, captured, stream):
        self.item, self.captured, self.stream = item, captured, stream
        # Events to wait for, and those that others wait for: only where a network changes streams.
        self.waits = self.tells = None
        self.end = torch.cuda.Event(enable_timing=True)


class Course:
    """
    Items in the order of their launch: `networks` lists of functions, `inputs` a tensor each, `streams` what an
    item's `on` counts. The GPU is held until everything is launched, so the CPU's time is no part of what is measured.
    """

    def __init__(self, items, networks, inputs, streams, control):
        self.control = control
        self.begin = torch.cuda.Event(enable_timing=True)
        self.steps = []
        passed, before = list(inputs), {}
        for item in items:
            functions = networks[item.network][item.first : item.last + 1]
            captured = Captured(functions, passed[item.network], streams[item.on])
            step = Step(item, captured, streams[item.on])
            earlier = before.get(item.network)
            if earlier and earlier.item.on != item.on:
                step.waits = earlier.tells = torch.cuda.Event()
            passed[item.network] = captured.out
            before[item.network] = step
            self.steps.append(step)
        self.outs = passed
        self.last = [before[network].end for network in sorted(before)]
        # Held, the GPU waits this long; learned from a first launch.
        self.hold_ms = 5.0
        self.hold_ms = 1.5 * self.run() + 0.5

    def launch(self):
        stream = None
        for step in self.steps:
            if step.stream is not stream:
                stream = step.stream
                torch.cuda.set_stream(stream)
            if step.waits:
                stream.wait_event(step.waits)
            step.captured.graph.replay()
            if step.tells:
                step.tells.record(stream)
            step.end.record(stream)

    def run(self, beside=None):
        """
        Once. `beside(begin)` launches what else is to run from the event `begin` on. Returns what launching its own
        took, ms: if that is more than hold_ms, times are the CPU's, too.
        """
        before = torch.cuda.current_stream()
        torch.cuda.synchronize()
        torch.cuda.set_stream(self.control)
        torch.cuda._sleep(int(self.hold_ms * CYCLES_A_MS))
        self.begin.record(self.control)
        began = time.perf_counter()
        for stream in {step.stream for step in self.steps}:
            stream.wait_event(self.begin)
        self.launch()
        took = time.perf_counter() - began
        if beside:
            beside(self.begin)
        torch.cuda.synchronize()
        torch.cuda.set_stream(before)
        return 1000 * took

    def ends_ms(self):
        """Per network, of the last run."""
        return [self.begin.elapsed_time(end) for end in self.last]

    def steps_ms(self):
        """Per step, of the last run, from the end of the one before: of a course on one stream."""
        ends = [self.begin.elapsed_time(step.end) for step in self.steps]
        return [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]


# A little fewer than there are at the highest clock, so that a hold lasts no less than asked for.
CYCLES_A_MS = 2_000_000


def median(values):
    ordered = sorted(values)
    return (ordered[len(ordered) // 2] + ordered[(len(ordered) - 1) // 2]) / 2


def course_of_one(functions, given, items, streams, control):
    return Course(items, [functions], [given], streams, control)


def steps_of_rounds(course, rounds, beside=None):
    """Medians of steps_ms, of the rounds in which the CPU was in time. Raises RuntimeError if it never was."""
    seen = []
    for _ in range(rounds):
        if course.run(beside) <= course.hold_ms:
            seen.append(course.steps_ms())
    if not seen:
        raise RuntimeError(f"the CPU was late in all of {rounds} rounds")
    return [median(column) for column in zip(*seen, strict=True)]
