"""Inputs of a plan: groups' times on each partition, what they suffer beside a load on the memory, what load
they are to others, and what changing partitions costs.
"""

import math
from itertools import accumulate

import networks
import torch
from carry import course_of_one, steps_of_rounds
from description import Item, equivalent, group_by_group, whole

ROUNDS = 15
ROUNDS_BESIDE = 5
GPM_SECONDS = 0.3
# Shorter groups are watched for too little time to tell anything.
LEAST_MS = 0.05
# Blocks per SM of the load.
LOADS = (0.12, 0.25, 0.5, 1, 3)
LOAD_BYTES = 1 << 30


class Network:
    def __init__(self, name, batch, machine):
        self.name, self.machine = name, machine
        torch.manual_seed(1)
        with torch.device("cuda"):
            made = networks.groups(name)
            side = networks.side(name)
            given = torch.randn(batch, 3, side, side)
        self.given = given.to(torch.bfloat16, memory_format=torch.channels_last)
        self.functions = [one.to(torch.bfloat16).to(memory_format=torch.channels_last) for _, one in made]
        self.measured = {"name": name, "groups": [{"name": what, "ms": {}, "demand": {}} for what, _ in made]}
        with torch.no_grad():
            passed = self.given
            for function in self.functions:
                passed = function(passed)
        self.expected = passed
        torch.cuda.synchronize()

    def course(self, items, streams):
        return course_of_one(self.functions, self.given, items, streams, self.machine.control)

    def off(self, out):
        """How far an answer is from the expected one, of the largest number in that; None where either is no number."""
        largest = self.expected.abs().max()
        off = ((out - self.expected).abs().max() / largest).item()
        return None if math.isnan(off) else float(f"{off:.3g}")

    def times(self):
        """Per group on each partition, and as a whole there and on all SMs, alone."""
        machine, self.by_group = self.machine, []
        whole_ms = {}
        for on, name in enumerate(machine.names):
            course = self.course(group_by_group(self.measured, on), {on: machine.streams[on]})
            for group, ms in zip(self.measured["groups"], steps_of_rounds(course, ROUNDS), strict=True):
                group["ms"][name] = ms
            self.by_group.append(course)
        for on, name in [*enumerate(machine.names), (2, "all")]:
            course = self.course(whole([self.measured], [on]), {on: machine.streams[on]})
            whole_ms[name] = steps_of_rounds(course, ROUNDS)[0]
            self.measured.setdefault("off", {})[name] = self.off(course.outs[0])
        self.measured["wholeMs"] = whole_ms

    def total_ms(self, name):
        return sum(group["ms"][name] for group in self.measured["groups"])

    def slowdowns(self, on, beside):
        """Times of each group on that partition, and of all of it; `beside(lasts_ms, begin)` runs on the other."""
        name = self.machine.names[on]
        lasts_ms = 5 * self.total_ms(name) + 1
        times = steps_of_rounds(self.by_group[on], ROUNDS_BESIDE, lambda begin: beside(lasts_ms, begin))
        # A measurement that began after the other had ended says nothing.
        told = [
            ms / group["ms"][name] if end < lasts_ms and group["ms"][name] > LEAST_MS else None
            for group, ms, end in zip(self.measured["groups"], times, accumulate(times), strict=True)
        ]
        return told, sum(times) / self.total_ms(name)

    def repeat(self, on, i):
        """A function that launches group i over and over."""
        step = self.by_group[on].steps[i]
        ms = self.measured["groups"][i]["ms"][self.machine.names[on]]

        def beside(lasts_ms, begin):
            step.stream.wait_event(begin)
            with torch.cuda.stream(step.stream):
                # Not as long as a load, which ends by itself: 5 times would be much for what slows by less than 2.
                for _ in range(round(0.4 * lasts_ms / ms) + 1):
                    step.captured.graph.replay()

        return beside

    def dram_gbs(self, counters, gbs_a_percent):
        """On each partition, over and over."""
        found = {}
        for course, name in zip(self.by_group, self.machine.names, strict=True):
            stream = course.steps[0].stream

            def work(course=course, stream=stream):
                with torch.cuda.stream(stream):
                    for _ in range(4):
                        for step in course.steps:
                            step.captured.graph.replay()
                stream.synchronize()

            found[name] = gbs_a_percent * counters.dram(work, GPM_SECONDS)
        return found


class Load:
    """Copies on one partition, as many at once as there are blocks."""

    def __init__(self, machine, kernels):
        self.machine, self.kernels = machine, kernels
        self.buffers = [torch.empty(LOAD_BYTES, dtype=torch.uint8, device="cuda") for _ in range(2)]
        self.moved = torch.zeros(1, dtype=torch.int64, device="cuda")

    def launch(self, on, blocks, lasts_ms, after=None):
        stream = self.machine.streams[on]
        if after:
            stream.wait_event(after)
        source, target = (buffer.data_ptr() for buffer in self.buffers)
        self.kernels.move(
            stream.cuda_stream, source, target, LOAD_BYTES, blocks, int(1e6 * lasts_ms), self.moved.data_ptr()
        )

    def gbs(self, on, blocks, lasts_ms=4):
        """Traffic of it alone."""
        self.launch(on, blocks, 1)
        torch.cuda.synchronize()
        self.moved.zero_()
        torch.cuda.synchronize()
        self.launch(on, blocks, lasts_ms)
        torch.cuda.synchronize()
        return self.moved.item() / lasts_ms / 1e6

    def blocks(self, on):
        return [max(1, round(self.machine.sms[on] * part)) for part in LOADS]


def gbs_a_percent(counters, load):
    """Scale of the counters, by a load whose throughput is known."""
    blocks = load.blocks(0)[-1]

    def busy():
        load.launch(0, blocks, 20)
        torch.cuda.synchronize()

    return load.gbs(0, blocks, 20) / counters.dram(busy, GPM_SECONDS)


def contention(victims, load, on):
    """
    Every network on one partition beside every load on the other:
    {network: {"curve": [[GB/s, slowdown of all]], "groups": [[GB/s, [slowdown of each group]]]}}.
    """
    found = {one.name: {"curve": [], "groups": []} for one in victims}
    for blocks in load.blocks(1 - on):
        gbs = load.gbs(1 - on, blocks)
        for one in victims:
            told, whole_slowdown = one.slowdowns(
                on, lambda lasts_ms, begin, blocks=blocks: load.launch(1 - on, blocks, lasts_ms, begin)
            )
            found[one.name]["curve"].append([gbs, whole_slowdown])
            found[one.name]["groups"].append([gbs, told])
    return found


def demands(networks_, probes, curves, on):
    """
    Of every group on partition `on`: the load there that slows the probes, networks on the other partition, as much
    (the mean of what each says). Not only traffic to the DRAM slows others, and this counts whatever does.
    """
    name = networks_[0].machine.names[on]
    for one in networks_:
        before = 0.0
        for i, group in enumerate(one.measured["groups"]):
            if group["ms"][name] > LEAST_MS:
                said = []
                for probe in probes:
                    _, slowdown = probe.slowdowns(1 - on, one.repeat(on, i))
                    said.append(equivalent(slowdown, curves[probe.name]["curve"]))
                group.setdefault("said", {})[name] = said
                before = sum(said) / len(said)
            # Too short to tell: as the one before it.
            group["demand"][name] = before


def transition_ms(machine):
    """
    Of a change of partition: a chain of tiny groups that changes every time, less one that never does. And a link of
    each chain: what a group's time has in it already.
    """
    count = 41
    given = torch.zeros(1024, device="cuda")
    chain = [lambda x: x + 1] * count

    def took(on):
        items = [Item(0, i, i, on(i)) for i in range(count)]
        course = course_of_one(chain, given, items, machine.streams, machine.control)
        return sum(steps_of_rounds(course, ROUNDS))

    changing = took(lambda i: i % 2) / count
    staying = [took(lambda i, on=on: on) / count for on in range(2)]
    return max(0, changing - sum(staying) / 2), {"changing": changing, "staying": staying}
