"""The steps from a bare GPU to planned pairs that ran; each stands by itself in the report."""

import beside
import description
import measure
import torch
import traffic
from machine import Machine
from pair import Pair, makespans


class Session:
    def __init__(self, given, report):
        self.given, self.report = given, report
        self.machine = machine = Machine(given.small)
        self.load = measure.Load(machine, machine.kernels)
        self.made = {}
        self.result = report.result
        self.result["gpu"] = {
            "name": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
        }
        self.result["partitions"] = dict(zip(machine.names, machine.sms, strict=True))

    def run(self):
        wanted = pairs_of(self.given.pairs) + pairs_of(self.given.more)
        self.probes = self.given.probes.split(",")
        attempt = self.report.attempt
        attempt("SMs seen", self.sms_seen)
        for name in dict.fromkeys([*self.probes, *(name for pair in wanted for name in pair)]):
            attempt(f"times of {name}", lambda name=name: self.times(name))
        attempt("traffic", self.traffic)
        attempt("contention", self.contention)
        attempt("transitions", self.transitions)
        for names in wanted:
            attempt(" + ".join(names), lambda names=names: self.pair(names))
        if self.given.beside:
            attempt("a solver", lambda: self.beside_solver(wanted[0][0]))

    def sms_seen(self):
        self.result["smsSeen"] = self.machine.sms_seen()
        self.report.say(f"partitions {self.result['partitions']}, SMs seen {self.result['smsSeen']}")

    def times(self, name):
        one = measure.Network(name, self.given.batch, self.machine)
        one.times()
        self.made[name] = one
        self.result["networks"][name] = one.measured
        whole = ", ".join(f"{where} {ms:.3f}" for where, ms in one.measured["wholeMs"].items())
        sums = ", ".join(f"{where} {one.total_ms(where):.3f}" for where in self.machine.names)
        self.report.say(f"{name}, {len(one.functions)} groups: whole {whole}; sum of groups {sums} ms")

    def traffic(self):
        counters = traffic.Counters()
        scale = self.result["gbsAPercent"] = measure.gbs_a_percent(counters, self.load)
        self.report.say(f"the memory's counters: {scale:.1f} GB/s a per cent")
        for one in self.made.values():
            one.measured["dramGbs"] = one.dram_gbs(counters, scale)
            self.report.say(f"{one.name}: DRAM {one.measured['dramGbs']} GB/s")

    def contention(self):
        everyone = list(self.made.values())
        probes = [self.made[name] for name in self.probes]
        curves = [measure.contention(everyone, self.load, on) for on in range(2)]
        self.result["contention"] = dict(zip(self.machine.names, curves, strict=True))
        for on, name in enumerate(self.machine.names):
            measure.demands(everyone, probes, curves[1 - on], on)
            for one in everyone:
                curve = ", ".join(f"{gbs:.0f}: {slow:.2f}" for gbs, slow in curves[on][one.name]["curve"])
                told = ", ".join(f"{group['demand'][name]:.0f}" for group in one.measured["groups"])
                self.report.say(f"{one.name} on {name}: slowdown beside GB/s {curve}; demands {told} GB/s")
        for on, name in enumerate(self.machine.names):
            self.result["points"][name] = [
                [description.rounded(value) for value in (group["demand"][name], gbs, slow)]
                for one in everyone
                for gbs, told in curves[on][one.name]["groups"]
                for group, slow in zip(one.measured["groups"], told, strict=True)
                if slow is not None
            ]

    def transitions(self):
        ms, self.result["linkMs"] = measure.transition_ms(self.machine)
        self.result["transitionMs"] = dict.fromkeys(self.machine.names, ms)
        self.report.say(f"a transition: {1000 * ms:.1f} us; links {self.result['linkMs']} ms")

    def problem(self, names, points, about):
        return description.problem(
            [self.made[name].measured for name in names],
            self.machine.names,
            self.given.memory_gbs,
            points,
            self.result["transitionMs"],
            f"{about}, batch {self.given.batch}, bf16, on two SM partitions of one GPU",
        )

    def pair(self, names):
        about = " + ".join(names)
        pair = Pair([self.made[name] for name in names], self.machine, self.given)
        found = pair.run(self.problem(names, self.result["points"], about), self.problem(names, None, about))
        self.result["pairs"].append({"pair": about, **found})
        self.report.say(
            f"{about}: planned for {found['plan']['makespanMs']:.3f} ms, "
            f"answers off by {found['answersOff']['planned']}, {makespans(found)}"
        )

    def beside_solver(self, name):
        """The solver's problem is all networks at once: it would go on for longer than anybody watches."""
        problem = self.problem(list(self.made), self.result["points"], "all networks")
        problem["transitions"] = "unlimited"
        self.result["besideSolver"] = beside.latencies(self.made[name], self.machine, self.given, problem)


def pairs_of(text):
    return [tuple(pair.split("+")) for pair in text.split(",") if pair]
