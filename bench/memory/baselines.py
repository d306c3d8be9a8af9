"""A job's GPU memory taken away and given back, in three ways: parked by Cotenant, by the driver's checkpoint of a process
(cuCheckpointProcess*), and by ending the job and starting it again. baselines.py [--gib 40] [--rounds 2] [--soft]; rows of JSON
on stdout. `outMs` lasts until the memory is free, `backMs` until the job has done a step of work with its content."""

import argparse
import ctypes
import time

from session import HOLDER, Failed, Session, row

MOVABLE = ["--class", "best-effort", "--movable"]


def timed(action):
    began = time.monotonic_ns()
    action()
    return (time.monotonic_ns() - began) / 1e6


class Parked:
    """`cotenant park` and `cotenant resume`, with the start of the command."""

    def __init__(self, session, command):
        self.session = session
        self.job = session.start("parked", command, *MOVABLE)
        self.job.until("ready", 240)
        session.until_pinned("parked", 120)

    def out(self):
        self.session.move("park", "parked")

    def back(self):
        self.session.move("resume", "parked")
        self.job.ask("step")


class Checkpoint:
    """The driver's functions, called by another process (here) on a job that runs natively."""

    def __init__(self, session, command):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise Failed("there is no CUDA driver here") from None
        self._do("cuInit", 0)
        self.job = session.start("checkpoint", command)
        self.job.until("ready", 240)

    def _do(self, name, *arguments):
        try:
            result = getattr(self.cuda, name)(*arguments)
        except AttributeError:
            raise Failed(f"this driver has no {name}") from None
        if result != 0:
            raise Failed(f"{name}: error {result}")

    def out(self):
        for name in ("cuCheckpointProcessLock", "cuCheckpointProcessCheckpoint"):
            self._do(name, self.job.pid, None)

    def back(self):
        for name in ("cuCheckpointProcessRestore", "cuCheckpointProcessUnlock"):
            self._do(name, self.job.pid, None)
        self.job.ask("step")


class Restart:
    """SIGKILL, and the command again: what was computed since its own last checkpoint is lost beside the time."""

    def __init__(self, session, command):
        self.start = lambda: session.start("restart", command)
        self.job = self.start()
        self.job.until("ready", 240)

    def out(self):
        self.job.process.kill()
        self.job.process.wait()

    def back(self):
        self.job = self.start()
        self.job.until("ready", 240)
        self.job.ask("step")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=40)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--soft", action="store_true")
    given = parser.parse_args()
    command = [*HOLDER, "--gib", str(given.gib), *(["--driver"] if given.soft else [])]
    # One after the other: together they would not fit.
    for way in (Parked, Checkpoint, Restart):
        name = way.__name__.lower()
        with Session(given.soft) as session:
            try:
                held = way(session, command)
                before = held.job.ask("check", seconds=240)["sum"]
                for number in range(given.rounds):
                    out = timed(held.out)
                    time.sleep(0.5)
                    row(name, round=number, outMs=out, backMs=timed(held.back))
                same = held.job.ask("check", seconds=240)["sum"] == before
                row("content", way=name, same=same)
            except Failed as failed:
                row("failed", way=name, why=str(failed))


if __name__ == "__main__":
    main()
