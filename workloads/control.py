"""How a harness directs a workload that it keeps alive: files in one directory.

  NAME.ready        written once by the workload, a JSON object of what it found out about itself
  phase             written by the harness, replaced as a whole by rename; see Phase
  NAME.ID.json      written by the workload when it has done its part of phase ID

Times are of time.monotonic_ns(), one clock for all processes of a machine.
"""

import json
import os
import time
from dataclasses import dataclass

POLL_SECONDS = 0.001


@dataclass(frozen=True)
class Phase:
    """What is to happen until the next phase appears."""

    id: int
    serve: bool = False
    train: bool = False
    # The window that counts: arrivals are offsets from its start.
    start_ns: int = 0
    seconds: float = 0.0
    # Path of a file with one ns offset a line.
    arrivals: str = ""
    quit: bool = False


def write_whole(path, text):
    """A reader sees all of it or the file before it."""
    fresh = f"{path}.{os.getpid()}.new"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(fresh, path)


def write_phase(directory, phase):
    write_whole(os.path.join(directory, "phase"), json.dumps(phase.__dict__))


class Control:
    """The workload's end."""

    def __init__(self, directory, name):
        self.directory = directory
        self.name = name
        self._path = os.path.join(directory, "phase")
        self._seen = None
        self._phase = Phase(id=-1)

    def ready(self, **facts):
        write_whole(os.path.join(self.directory, f"{self.name}.ready"), json.dumps(facts))

    def report(self, phase, **what):
        path = os.path.join(self.directory, f"{self.name}.{phase.id}.json")
        write_whole(path, json.dumps({"id": phase.id, **what}))

    def phase(self):
        """The phase now. Costs one stat() as long as nothing has changed."""
        try:
            stat = os.stat(self._path)
        except FileNotFoundError:
            return self._phase
        mark = (stat.st_ino, stat.st_mtime_ns)
        if mark != self._seen:
            with open(self._path, encoding="utf-8") as file:
                self._phase = Phase(**json.load(file))
            self._seen = mark
        return self._phase

    def next(self, phase_id):
        """Waits for a phase other than the one of that id."""
        while (phase := self.phase()).id == phase_id:
            time.sleep(POLL_SECONDS)
        return phase

    def phases(self):
        """Every phase that is seen, until the one that says quit."""
        phase = self.next(-1)
        while not phase.quit:
            yield phase
            phase = self.next(phase.id)
