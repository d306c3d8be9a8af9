"""Lower bounds of mapping problems by linear programming, with prices that change over time: run by moments.ts.

Needs highspy and numpy (pip). Reads problems from standard input and writes bounds in ms, both as JSON.

The time until the last network ends, T, is divided into equal moments. Each network is a flow of one unit over states
(group that ended last, its accelerator, transitions made, moment), so it knows the order of its groups. In each moment the work
that the flows want is done by sets of one or two groups that run at once, with contention; a set's time counts for each of
its networks. With one moment this is the bound of the search. With `until`, a group works only in moments that
its place in the network allows, if the last network ends by then.
"""

import json
import sys

import highspy
import numpy


class Program:
    """A linear program in columns: minimises cost x subject to low <= rows <= high, x >= 0."""

    def __init__(self):
        self.rows, self.low, self.high = {}, [], []
        self.costs, self.starts, self.indices, self.values = [], [0], [], []

    def row(self, key, low, high):
        self.rows[key] = len(self.low)
        self.low.append(low)
        self.high.append(high)

    def column(self, entries, cost=0.0):
        for key, value in entries:
            self.indices.append(self.rows[key])
            self.values.append(value)
        self.starts.append(len(self.indices))
        self.costs.append(cost)

    def solve(self):
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.costs), len(self.low)
        model.col_cost_ = numpy.array(self.costs)
        model.col_lower_ = numpy.zeros(len(self.costs))
        model.col_upper_ = numpy.full(len(self.costs), highspy.kHighsInf)
        model.row_lower_, model.row_upper_ = numpy.array(self.low), numpy.array(self.high)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = numpy.array(self.starts)
        model.a_matrix_.index_ = numpy.array(self.indices)
        model.a_matrix_.value_ = numpy.array(self.values)
        solver = highspy.Highs()
        for option, value in {"output_flag": False, "solver": "ipm", "run_crossover": "off", "threads": 1}.items():
            solver.setOptionValue(option, value)
        solver.passModel(model)
        solver.run()
        assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        prices = dict(zip(self.rows, solver.getSolution().row_dual))
        return solver.getInfo().objective_function_value, prices


def allowed(problem, moments, until):
    """For each group, the moments in which it may work."""
    first, times = problem["first"], problem["timeMs"]
    least = [min(one for one in times[2 * g : 2 * g + 2] if one is not None) for g in range(first[-1])]
    found = []
    for begin, end in zip(first, first[1:]):
        for g in range(begin, end):
            head, tail = sum(least[begin:g]), sum(least[g + 1 : end])
            width = (until or 0) / moments
            found.append(
                [
                    j
                    for j in range(moments)
                    if until is None or (head < (j + 1) * width - 1e-9 and tail < until - j * width - 1e-9)
                ]
            )
    return found


def flows(program, problem, moments, may):
    first, times = problem["first"], problem["timeMs"]
    out, into, inputs = problem["outMs"], problem["inMs"], problem["inputs"]
    for n, (begin, end) in enumerate(zip(first, first[1:])):
        levels = range(problem["transitions"][n] + 1)
        states = [(begin - 1, -1, 0)] + [(g, a, used) for g in range(begin, end - 1) for a in (0, 1) for used in levels]
        for state in states:
            for j in range(moments):
                supply = 1.0 if state[1] < 0 and j == 0 else 0.0
                program.row((n, *state, j), supply, supply)
        for g, a, used in states:
            for j in range(moments):
                here = (n, g, a, used, j)
                if j + 1 < moments:
                    program.column([(here, 1.0), ((n, g, a, used, j + 1), -1.0)])
                h = g + 1
                for b in (0, 1):
                    changes = a >= 0 and a != b
                    then = used + (1 if changes else 0)
                    time = times[2 * h + b]
                    if j not in may[h] or then not in levels or time is None:
                        continue
                    entries = [(here, 1.0), (("work", 2 * h + b, j), -time)]
                    if h < end - 1:
                        entries.append(((n, h, b, then, j), -1.0))
                    if changes and g in inputs[h]:
                        entries.append((("own", n, j), out[2 * g + a] + into[2 * h + b]))
                    program.column(entries)


def bound(problem, moments, until=None):
    first, times, slowdown = problem["first"], problem["timeMs"], problem["slowdown"]
    networks = range(len(first) - 1)
    owner = [n for n in networks for _ in range(first[n], first[n + 1])]
    runs = [at for at, time in enumerate(times) if time is not None]
    program = Program()
    length = []
    for j in range(moments):
        for key in [("all", j)] + [("own", n, j) for n in networks]:
            program.row(key, -highspy.kHighsInf, 0.0)
            length.append((key, -1.0 / moments))
        for at in range(len(times)):
            program.row(("work", at, j), 0.0, 0.0)
    flows(program, problem, moments, allowed(problem, moments, until))
    for j in range(moments):
        for at in runs:
            mine = [(("all", j), 1.0), (("own", owner[at // 2], j), 1.0)]
            program.column([*mine, (("work", at, j), 1.0)])
            for other in runs:
                if other <= at or at % 2 == other % 2 or owner[at // 2] == owner[other // 2]:
                    continue
                together = [(("work", at, j), 1 / slowdown[at][other]), (("work", other, j), 1 / slowdown[other][at])]
                program.column([*mine, (("own", owner[other // 2], j), 1.0), *together])
    program.column(length, 1.0)
    return program.solve()


def spread(problem, prices):
    """By how much the dearest assignment of all networks is dearer than the cheapest, at prices for one moment."""
    first, out, into = problem["first"], problem["outMs"], problem["inMs"]
    total = 0.0
    for n, (begin, end) in enumerate(zip(first, first[1:])):
        moving = -prices[("own", n, 0)]
        ends = {}
        for a in (0, 1):
            ends[(a, 0)] = (0.0, 0.0)
        for g in range(begin, end):
            costs = {}
            for (a, used), (low, high) in ends.items():
                for b in (0, 1):
                    at, then = 2 * g + b, used + (1 if a != b else 0)
                    if (g == begin and a != b) or then > problem["transitions"][n]:
                        continue
                    move = out[2 * (g - 1) + a] + into[at] if a != b and g - 1 in problem["inputs"][g] else 0.0
                    here = prices[("work", at, 0)] * problem["timeMs"][at] + moving * move
                    known = costs.get((b, then), (float("inf"), -float("inf")))
                    costs[(b, then)] = (min(known[0], low + here), max(known[1], high + here))
            ends = costs
        total += max(high for _, high in ends.values()) - min(low for low, _ in ends.values())
    return total


def main():
    answers = []
    for one in json.load(sys.stdin):
        problem = one["problem"]
        answers.append({"bounds": [bound(problem, moments, until)[0] for moments, until in one["asked"]]})
        if None not in problem["timeMs"]:
            answers[-1]["spread"] = spread(problem, bound(problem, 1)[1])
    print(json.dumps(answers))


main()
