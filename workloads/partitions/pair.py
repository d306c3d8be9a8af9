"""Two networks, planned by the command and run in every way."""

import gc
import json
import random
import subprocess
import tempfile
from pathlib import Path

import description
from carry import Course, median


class Pair:
    def __init__(self, both, machine, given):
        self.both, self.machine, self.given = both, machine, given
        self.measured = [one.measured for one in both]

    def plan(self, problem):
        """By the command."""
        with tempfile.TemporaryDirectory() as folder:
            file, plan = Path(folder, "pair.json"), Path(folder, "plan.json")
            file.write_text(json.dumps(problem), encoding="utf-8")
            line = [self.given.cotenant, "soc", "plan", file, "--out", plan]
            subprocess.run([*line, "--seconds", f"{self.given.solve_seconds}"], check=True)
            return json.loads(plan.read_text(encoding="utf-8"))

    def run(self, problem, blind_problem):
        """Every way to run the pair, in rounds, in a new order each. blind_problem: without contention."""
        plan, blind = self.plan(problem), self.plan(blind_problem)
        items = {
            "planned": description.items_of(plan, self.measured, self.machine.names),
            "planned without contention": description.items_of(blind, self.measured, self.machine.names),
            "fixed": description.whole(self.measured, [0, 1]),
            "fixed, the other way": description.whole(self.measured, [1, 0]),
            "all SMs, one after the other": description.whole(self.measured, [2, 2]),
            "all SMs, both at once": description.whole(self.measured, [2, 3]),
        }
        functions = [one.functions for one in self.both]
        inputs = [one.given for one in self.both]
        courses = {
            way: Course(one, functions, inputs, self.machine.streams, self.machine.control)
            for way, one in items.items()
        }
        ends = {way: [] for way in courses}
        chance = random.Random(1)
        gc.collect()
        gc.disable()
        for _ in range(self.given.rounds):
            for way in chance.sample(list(courses), len(courses)):
                if courses[way].run() <= courses[way].hold_ms:
                    ends[way].append(courses[way].ends_ms())
        gc.enable()
        off = {
            way: [one.off(out) for one, out in zip(self.both, course.outs, strict=True)]
            for way, course in courses.items()
        }
        ran = [vars(one) | {"endMs": self.end(courses["planned"], i)} for i, one in enumerate(items["planned"])]
        return {
            "problem": problem,
            "plan": plan,
            "planWithoutContention": blind,
            "plannedItems": ran,
            "answersOff": off,
            "endsMs": {way: [[round(ms, 4) for ms in one] for one in seen] for way, seen in ends.items()},
        }

    @staticmethod
    def end(course, i):
        return round(course.begin.elapsed_time(course.steps[i].end), 4)


def makespans(result):
    return {way: round(median([max(one) for one in seen]), 3) for way, seen in result["endsMs"].items()}
