"""One pair of real jobs on one GPU: what sharing does to each, against each alone, in the same run.

Every mode's two processes are started once and kept; rounds of short windows then alternate between them,
so that what drifts (clock, temperature, the machine) drifts for all alike. README.md beside this says what
the figures mean.
"""

import argparse
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "workloads"))
from control import Phase, write_phase  # noqa: E402
from openloop import poisson, write_arrivals  # noqa: E402
from stats import mean_ratio, quantile, rate, slowdown  # noqa: E402

READY_SECONDS = 240
NATIVE = "native"


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--high", required=True, help='such as "python3 workloads/serve.py --model bert-large"')
    add("--best-effort", required=True, help='such as "python3 workloads/train.py"')
    add("--modes", default="native", help="names; native has no prefix, the others have both")
    add("--high-prefix", default="", help="put before the high command, in all modes but native")
    add("--be-prefix", default="", help="put before the best-effort command, likewise")
    add("--overhead", action="store_true", help="solo windows only: mode against native")
    add("--load", type=float, default=0.2, help="rate = load / service time of the high job alone")
    add("--rate", type=float, help="requests per second, instead of --load")
    add("--rounds", type=int, default=4)
    add("--seconds", type=float, default=10.0, help="of a window with requests")
    add("--train-seconds", type=float, default=6.0, help="of a window with training alone")
    add("--warmup-seconds", type=float, default=3.0, help="of each window of the dropped round")
    add("--settle", type=float, default=0.5, help="seconds dropped at the start of each window")
    add("--lead", type=float, default=1.0, help="seconds that training starts before a window")
    add("--seed", type=int, default=1)
    add("--commit", default="", help="of the code measured")
    add("--note", default="", help="anything else a reader of the result must know")
    add("--directory", help="for control files and logs; default: a fresh one")
    add("--json", help="write the result here")
    add("--raw", help="write the times of every request and iteration here")
    return parser.parse_args()


class Failed(Exception):
    """Something that ends the run, in one sentence."""


class Job:
    """One process under measurement."""

    def __init__(self, directory, name, prefix, command):
        self.directory, self.name = directory, name
        self.log = os.path.join(directory, f"{name}.log")
        line = [*shlex.split(prefix), *shlex.split(command)]
        line += ["--control", directory, "--name", name]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                line, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def wait_for(self, file, seconds):
        """The JSON the job writes there, as soon as it does."""
        path = os.path.join(self.directory, f"{self.name}.{file}")
        end = time.monotonic() + seconds
        while not os.path.exists(path):
            if self.process.poll() is not None:
                raise Failed(f"{self.name} ended with {self.process.returncode}: {self._tail()}")
            if time.monotonic() > end:
                raise Failed(f"{self.name} took more than {seconds:.0f} s: {self._tail()}")
            time.sleep(0.005)
        with open(path, encoding="utf-8") as found:
            return json.load(found)

    def _tail(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return f"{self.log} ends with\n{log.read()[-2000:]}"

    def end(self):
        """It was told to quit; one that does not is made to, with the children it started."""
        for signal in (None, 15, 9):
            if signal:
                os.killpg(self.process.pid, signal)
            try:
                return self.process.wait(20)
            except subprocess.TimeoutExpired:
                continue
        return None


@dataclass
class Window:
    """What was seen between start_ns and end_ns, the settling left out."""

    start_ns: int
    end_ns: int
    latency_ns: list
    service_ns: list
    done_ns: list

    @property
    def iterations_per_s(self):
        return rate(self.done_ns, self.start_ns, self.end_ns)

    @property
    def active_share(self):
        return sum(self.service_ns) / (self.end_ns - self.start_ns)


class Mode:
    """A high and a best-effort process, and the phases they are led through."""

    def __init__(self, name, given, directory):
        self.name, self.given = name, given
        self.directory = os.path.join(directory, name)
        os.makedirs(self.directory)
        self.next_id = 0
        self.jobs = {}

    def start(self, job):
        prefix, command = {
            "serve": (self.given.high_prefix, self.given.high),
            "train": (self.given.be_prefix, self.given.best_effort),
        }[job]
        prefix = "" if self.name == NATIVE else prefix
        self.jobs[job] = Job(self.directory, job, prefix, command)

    def ready(self, job):
        return self.jobs[job].wait_for("ready", READY_SECONDS)

    def _phase(self, **what):
        phase = Phase(id=self.next_id, **what)
        self.next_id += 1
        write_phase(self.directory, phase)
        return phase

    def window(self, seconds, arrivals=None, train=False):
        # Training starts ahead of the window, so that it is in full swing when the window begins.
        lead = self.given.lead if train else min(self.given.lead, 0.3)
        start_ns = time.monotonic_ns() + int(lead * 1e9)
        end_ns = start_ns + int(seconds * 1e9)
        phase = self._phase(
            serve=arrivals is not None,
            train=train,
            start_ns=start_ns,
            seconds=seconds,
            arrivals=arrivals or "",
        )
        patience = lead + 4 * seconds + 60
        served = {"arrival_ns": [], "latency_ns": [], "service_ns": []}
        if arrivals is not None:
            served = self.jobs["serve"].wait_for(f"{phase.id}.json", patience)
        time.sleep(max(0.0, (end_ns - time.monotonic_ns()) / 1e9))
        self._phase()
        trained = {"done_ns": []}
        if train:
            trained = self.jobs["train"].wait_for(f"{phase.id}.json", patience)
        settled_ns = start_ns + int(self.given.settle * 1e9)
        kept = [i for i, at in enumerate(served["arrival_ns"]) if at >= settled_ns]
        return Window(
            settled_ns,
            end_ns,
            [served["latency_ns"][i] for i in kept],
            [served["service_ns"][i] for i in kept],
            trained["done_ns"],
        )

    def end(self):
        self._phase(quit=True)
        for job in self.jobs.values():
            job.end()


def say(line):
    print(f"pair: {line}", file=sys.stderr, flush=True)


def run_round(modes, given, arrivals, seconds, train_seconds):
    """One window of each kind in each mode: {mode: {kind: Window}}."""
    seen = {mode.name: {} for mode in modes}
    for mode in modes:
        seen[mode.name]["solo"] = mode.window(seconds, arrivals=arrivals)
    if not given.overhead:
        for mode in modes:
            seen[mode.name]["shared"] = mode.window(seconds, arrivals=arrivals, train=True)
    for mode in modes:
        seen[mode.name]["train"] = mode.window(train_seconds, train=True)
    return seen


def start_all(modes):
    """The first mode's high job measures itself with nobody else there; the rest start together."""
    first = modes[0]
    first.start("serve")
    facts = first.ready("serve")
    for mode in modes:
        for job in ("serve", "train"):
            if job not in mode.jobs:
                mode.start(job)
    for mode in modes:
        for job in ("serve", "train"):
            mode.ready(job)
    return facts


def measure(modes, given, directory):
    facts = start_all(modes)
    per_second = given.rate or given.load / (facts["service_p50_ns"] / 1e9)
    say(f"ready; {per_second:.2f} requests a second")
    rounds = []
    for number in range(given.rounds + 1):
        dropped = number == 0
        seconds = given.warmup_seconds if dropped else given.seconds
        train_seconds = given.warmup_seconds if dropped else given.train_seconds
        arrivals = os.path.join(directory, f"arrivals.{number}")
        write_arrivals(arrivals, poisson(per_second, seconds, given.seed + number))
        order = modes if number % 2 == 0 else modes[::-1]
        seen = run_round(order, given, arrivals, seconds, train_seconds)
        say(f"round {number} of {given.rounds}{' (dropped)' if dropped else ''} done")
        if not dropped:
            rounds.append(seen)
    return facts, per_second, rounds


def compare(rounds, mode, kind, base):
    """Slowdown of the requests in `kind` windows of a mode against solo windows of `base`."""

    def pairs(what):
        return [
            list(zip(getattr(r[base]["solo"], what), getattr(r[mode][kind], what), strict=True))
            for r in rounds
        ]

    latency, service = pairs("latency_ns"), pairs("service_ns")
    return {
        "latency": {f"p{round(q * 100)}": slowdown(latency, q) for q in (0.5, 0.95, 0.99)},
        "service": {f"p{round(q * 100)}": slowdown(service, q) for q in (0.5, 0.95, 0.99)},
    }


def retained(rounds, mode, kind, base):
    return mean_ratio(
        [(r[base]["train"].iterations_per_s, r[mode][kind].iterations_per_s) for r in rounds]
    )


def absolute(rounds, mode, kind):
    windows = [r[mode][kind] for r in rounds]
    found = {"windows": len(windows)}
    for what in ("latency", "service"):
        times = [ns for w in windows for ns in getattr(w, f"{what}_ns")]
        found["requests"] = len(times)
        if times:
            found[f"{what}_ms"] = {
                f"p{round(q * 100)}": quantile(times, q) / 1e6 for q in (0.5, 0.95, 0.99)
            }
    if any(w.done_ns for w in windows):
        found["iterations_per_s"] = [w.iterations_per_s for w in windows]
    return found


def figures(rounds, names):
    """Per mode: absolute figures, its cost against native, and what sharing does."""
    result = {}
    for name in names:
        kinds = rounds[0][name]
        base = NATIVE if NATIVE in names else name
        found = {"absolute": {kind: absolute(rounds, name, kind) for kind in kinds}}
        if name != base:
            found["overhead"] = {
                **compare(rounds, name, "solo", base),
                "retained": retained(rounds, name, "train", base),
            }
        if "shared" in kinds:
            active = mean_ratio([(1.0, r[name]["shared"].active_share) for r in rounds])
            kept = retained(rounds, name, "shared", base)
            found["shared"] = {
                "solo_of": base,
                **compare(rounds, name, "shared", base),
                "retained": kept,
                "active_share": active,
                "retained_of_possible": kept["value"] / (1 - active["value"]),
            }
            if name != base:
                found["shared_against_own_solo"] = {
                    "solo_of": name,
                    **compare(rounds, name, "shared", name),
                    "retained": retained(rounds, name, "shared", name),
                }
        result[name] = found
    return result


def machine():
    """What the figures were measured on."""
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        gpus = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        gpus = []
    cpu = platform.processor()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    return {"gpus": [gpu for gpu in gpus if gpu], "cpu": cpu, "cpus": os.cpu_count()}


def table(result):
    """One row a mode and kind of comparison."""
    heads = ("mode", "", "latency p50", "p95", "p99", "service p50", "p99", "retained", "of possible")
    rows = [heads]
    for name, found in result["results"].items():
        for what in ("overhead", "shared"):
            if what not in found:
                continue
            part = found[what]
            cells = [part["latency"][q] for q in ("p50", "p95", "p99")]
            cells += [part["service"][q] for q in ("p50", "p99")]
            texts = [f"{c['value']:.3f} [{c['low']:.2f} {c['high']:.2f}]" for c in cells]
            texts.append(f"{part['retained']['value']:.3f}")
            possible = part.get("retained_of_possible")
            rows.append((name, what, *texts, f"{possible:.3f}" if possible is not None else ""))
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def raw(rounds):
    def plain(window):
        return {
            "start_ns": window.start_ns,
            "end_ns": window.end_ns,
            "latency_ns": window.latency_ns,
            "service_ns": window.service_ns,
            "done_ns": window.done_ns,
        }

    return [
        {mode: {kind: plain(w) for kind, w in kinds.items()} for mode, kinds in r.items()}
        for r in rounds
    ]


def main():
    given = options()
    directory = given.directory or tempfile.mkdtemp(prefix="cotenant-pair-")
    os.makedirs(directory, exist_ok=True)
    names = given.modes.split(",")
    modes = [Mode(name, given, directory) for name in sorted(names, key=lambda n: n != NATIVE)]
    try:
        facts, per_second, rounds = measure(modes, given, directory)
    except Failed as failed:
        say(str(failed))
        return 1
    finally:
        for mode in modes:
            mode.end()
    result = {
        "version": 1,
        "kind": "overhead" if given.overhead else "pair",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "commit": given.commit,
        "command": shlex.join([os.path.relpath(sys.argv[0], ROOT), *sys.argv[1:]]),
        "options": vars(given),
        "high": facts,
        "requests_per_s": per_second,
        "results": figures(rounds, names),
    }
    for path, content in ((given.json, result), (given.raw, raw(rounds))):
        if path:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(content, file)
                file.write("\n")
    print(table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
