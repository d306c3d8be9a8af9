"""How a harness directs a workload that it keeps alive: files in one directory.

  NAME.ready     written once by the job NAME, a JSON object of what it found out about itself
  phase          written by the harness, replaced as a whole by rename: what is to happen until the next
  NAME.ID.json   written by the job when it has done its part of phase ID

A phase is {"id", "pid", "pid_namespace", "start_ns", "seconds", "jobs": {NAME: {"arrivals", "announce_us"}}, "quit"}; a job
takes part if its name is a key of "jobs", and leaves when the harness, whose pid it is, has gone. Times are of time.monotonic_ns(), one clock for all processes of a
machine. README.md beside this says what the jobs answer.
"""

import json
import os
import time
from dataclasses import dataclass

# Time between two looks of an idle job: phases are announced half a second ahead, and a dozen jobs that look often
# take a service's CPU from it.
POLL_SECONDS = 0.02
# The file may be half written or gone for this long. After that the harness is broken or gone, and a job that went
# on would hold the GPU for nobody.
DISORDER_SECONDS = 0.5
HARNESS_SECONDS = 1.0


class Disorder(Exception):
    """The phase cannot be read, and not only for a moment."""


@dataclass(frozen=True)
class Phase:
    """This job's part of what is to happen."""

    id: int
    start_ns: int
    seconds: float
    # A file of ns offsets from start_ns; None: a closed loop.
    arrivals: str | None
    # How long before its arrival a request is announced; 0: not at all.
    announce_us: int


class Control:
    """One job's end. A process that does two jobs has one of these for each."""

    def __init__(self, directory, name):
        self.directory = directory
        self.name = name
        self._path = os.path.join(directory, "phase")
        self._seen = None
        self._said: dict = {"id": None, "jobs": {}}
        self._disorder_since = None
        self._harness_seen = 0.0

    def ready(self, **facts):
        write_whole(os.path.join(self.directory, f"{self.name}.ready"), json.dumps(facts))

    def report(self, phase, **what):
        path = os.path.join(self.directory, f"{self.name}.{phase.id}.json")
        write_whole(path, json.dumps({"id": phase.id, **what}))

    def phases(self):
        """Each phase in which this job takes part, until the harness says quit."""
        known = None
        while True:
            said = self._look()
            if said.get("quit"):
                return
            if said["id"] == known:
                time.sleep(POLL_SECONDS)
                continue
            known = said["id"]
            if self.name in said["jobs"]:
                yield self._part_of(said)

    def still(self, phase):
        """Whether that phase goes on. Costs one stat() as long as nothing has changed."""
        return self._look()["id"] == phase.id

    def _part_of(self, said):
        part = said["jobs"][self.name]
        return Phase(
            id=said["id"],
            start_ns=int(said["start_ns"]),
            seconds=said["seconds"],
            arrivals=part.get("arrivals"),
            announce_us=int(part.get("announce_us", 0)),
        )

    def _look(self):
        """The phase in the file, or the last one that was there."""
        try:
            stat = os.stat(self._path)
            mark = (stat.st_ino, stat.st_mtime_ns)
            if mark != self._seen:
                with open(self._path, encoding="utf-8") as file:
                    self._said = understood(json.load(file))
                self._seen = mark
            self._disorder_since = None
        except (OSError, ValueError) as fault:
            # Before the first phase there may be no file for as long as the harness likes.
            if self._seen is not None or not isinstance(fault, FileNotFoundError):
                self._bear(fault)
        if self._harness_gone():
            self._said = {"id": None, "jobs": {}, "quit": True}
        return self._said

    def _harness_gone(self):
        now = time.monotonic()
        if "pid" not in self._said or now - self._harness_seen < HARNESS_SECONDS:
            return False
        self._harness_seen = now
        # In another PID namespace that pid is somebody else's; there, what started the job ends it.
        namespace = os.stat("/proc/self/ns/pid").st_ino
        if self._said.get("pid_namespace", namespace) != namespace:
            return False
        try:
            os.kill(self._said["pid"], 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False

    def _bear(self, fault):
        now = time.monotonic()
        self._disorder_since = self._disorder_since or now
        if now - self._disorder_since > DISORDER_SECONDS:
            raise Disorder(f"{self._path} cannot be read: {fault}") from fault


def understood(said):
    if not isinstance(said, dict) or "id" not in said or not isinstance(said.get("jobs"), dict):
        raise ValueError("it has no id or no jobs")
    return said


def write_whole(path, text):
    """A reader sees all of it or the file before it."""
    fresh = f"{path}.{os.getpid()}.new"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(fresh, path)
