"""An agent in a directory of its own, and the programs that a measurement starts beside it. Times are of
time.monotonic_ns(), one clock for all processes of a machine."""

import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COTENANT = ["node", str(ROOT / "bin/cotenant")]
PYTHON = [sys.executable]
HOLDER = [*PYTHON, str(HERE / "holder.py")]
TRAIN = [*PYTHON, str(ROOT / "workloads/train.py")]
SERVE = [*PYTHON, str(ROOT / "workloads/serve.py")]
GIB = 2**30


def row(what, **figures):
    """One line of the result."""
    print(json.dumps({"what": what, **figures}), flush=True)


def say(line):
    print(f"{time.monotonic():.1f} {line}", file=sys.stderr, flush=True)


class Failed(Exception):
    pass


class Program:
    """A process that says rows of JSON on stdout and takes orders on stdin. Other lines are kept."""

    def __init__(self, name, command, env, errors):
        self.name = name
        self.errors = errors / f"{name}.err"
        with open(self.errors, "w", encoding="utf-8") as file:
            self.process = subprocess.Popen(
                command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.orders, self.output = self.process.stdin, self.process.stdout
        self.said = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self):
        return self.process.pid

    def _read(self):
        for line in self.output:
            self.said.put(line.strip())
        self.said.put(None)

    def failed(self, why):
        last = self.errors.read_text(encoding="utf-8").strip().splitlines()[-3:]
        return Failed(f"{self.name}: {why}: {' | '.join(last)}")

    def until(self, word, seconds=120):
        """The next line with this word; a row of JSON as such."""
        end = time.monotonic() + seconds
        while True:
            try:
                line = self.said.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise self.failed(f'did not say "{word}" within {seconds} s') from None
            if line is None:
                raise self.failed(f'ended without "{word}"')
            if word in line:
                return json.loads(line) if line.startswith("{") else line

    def ask(self, order, word=None, seconds=120):
        self.orders.write(order + "\n")
        self.orders.flush()
        return self.until(word or order, seconds)

    def end(self, seconds=20):
        """By the end of its orders, then by force."""
        try:
            self.orders.close()
            self.process.wait(seconds)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


class Session:
    """Use as `with Session(soft) as session`. `soft`: on the software GPU."""

    def __init__(self, soft, *up, env=None):
        self.soft = soft
        self.directory = Path(tempfile.mkdtemp(prefix="cotenant-memory-"))
        own = {"COTENANT_DIR": str(self.directory / "agent"), "COTENANT_CONFIG": ""}
        self.env = {**os.environ, **own, **(env or {})}
        self.up = ["up", *(["--gpu", "soft"] if soft else []), *up]
        self.programs = []

    def __enter__(self):
        self.cotenant(*self.up)
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.end(5)
        subprocess.run([*COTENANT, "down"], env=self.env, check=False, capture_output=True, timeout=60)
        shutil.rmtree(self.directory, ignore_errors=True)

    def cotenant(self, *words, seconds=180):
        """Output of a command of ours."""
        done = subprocess.run([*COTENANT, *words], env=self.env, text=True, capture_output=True, timeout=seconds)
        if done.returncode != 0:
            raise Failed(f"cotenant {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def start(self, name, command, *options, env=None):
        """`options`: those of `cotenant run`; none: natively, without Cotenant."""
        words = [*COTENANT, "run", *options, "--name", name, "--", *command] if options else command
        program = Program(name, words, {**self.env, **self._native(options), **(env or {})}, self.directory)
        self.programs.append(program)
        return program

    def _native(self, options):
        """Where programs without Cotenant find the software GPU."""
        if options or not self.soft:
            return {}
        return {
            "LD_LIBRARY_PATH": str(ROOT / "build/native/softgpu"),
            "COTENANT_SOFTGPU_DIR": str(self.directory / "agent/softgpu"),
        }

    def client(self, name):
        """As the agent's status has it; None if it is not there."""
        for gpu in json.loads(self.cotenant("status", "--json"))["gpus"]:
            for client in [*gpu["high"], *gpu["bestEffort"]]:
                if client["name"] == name:
                    return client
        return None

    def until(self, what, holds, seconds=60):
        """Seconds until it holds."""
        began = time.monotonic()
        while not holds():
            if time.monotonic() - began > seconds:
                raise Failed(f"not within {seconds} s: {what}")
            time.sleep(0.1)
        return time.monotonic() - began

    def until_pinned(self, name, seconds=90):
        def pinned():
            memory = (self.client(name) or {}).get("memory")
            return memory and memory["bytes"] > 0 and memory["pinnedBytes"] >= memory["bytes"]

        return self.until(f"{name} has its host memory", pinned, seconds)

    def move(self, wish, name):
        """Parks or resumes: what the client says it took, the command's wall clock, and when it moved."""
        began = time.monotonic_ns()
        moved = json.loads(self.cotenant(wish, name, "--json"))[0]["memory"]
        ended = time.monotonic_ns()
        own_ms = moved["parkMs" if wish == "park" else "returnMs"]
        return {
            "ownMs": own_ms,
            "wallMs": (ended - began) / 1e6,
            "gib": moved["bytes"] / GIB,
            # The command looks every 20 ms whether it is done.
            "span": (int(ended - (own_ms + 60) * 1e6), ended),
        }


class Phases:
    """The harness's side of the control files (workloads/control.py)."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.id = 0
        self._write({})

    def _write(self, jobs, seconds=3600.0, start_ns=0, leave=False):
        phase = {"id": self.id, "pid": os.getpid(), "start_ns": start_ns, "seconds": seconds, "jobs": jobs}
        fresh = self.directory / "phase.new"
        fresh.write_text(json.dumps({**phase, "quit": leave}), encoding="utf-8")
        os.replace(fresh, self.directory / "phase")

    def ready(self, name, program, seconds=120):
        return self._file(f"{name}.ready", program, seconds)

    def _file(self, name, program, seconds):
        path = self.directory / name
        end = time.monotonic() + seconds
        while not path.exists():
            if program.process.poll() is not None or time.monotonic() > end:
                raise program.failed(f"no {name}")
            time.sleep(0.02)
        return json.loads(path.read_text(encoding="utf-8"))

    def begin(self, jobs, seconds=3600.0):
        """`jobs`: a part for each name."""
        self.id += 1
        start_ns = time.monotonic_ns() + 200_000_000
        self._write(jobs, seconds, start_ns)
        return start_ns

    def rest(self):
        began = self.id
        self.id += 1
        self._write({})
        return began

    def answer(self, name, program, phase, seconds=60):
        return self._file(f"{name}.{phase}.json", program, seconds)

    def arrivals(self, rate, seconds, seed=1):
        """A file of a Poisson process."""
        chance, at, offsets = random.Random(seed), 0.0, []
        while (at := at + chance.expovariate(rate)) < seconds:
            offsets.append(int(at * 1e9))
        path = self.directory / f"arrivals.{self.id + 1}"
        path.write_text("".join(f"{ns}\n" for ns in offsets), encoding="utf-8")
        return str(path)

    def leave(self):
        self._write({}, leave=True)


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else None


def times(values_ns):
    """Quantiles of requests, in ms."""
    ms = [value / 1e6 for value in values_ns]
    return {"n": len(ms), "p50Ms": quantile(ms, 0.5), "p99Ms": quantile(ms, 0.99), "maxMs": max(ms, default=None)}
