"""Results so far, in a file; a failure does not end the rest."""

import json
import time
import traceback
from pathlib import Path


class Report:
    """Results so far, in a file, and failures, which do not end the rest."""

    def __init__(self, given):
        self.given, self.began = given, time.monotonic()
        options = {what: value for what, value in vars(given).items() if what not in ("cotenant", "out")}
        self.result: dict = {"options": options, "failed": [], "networks": {}, "points": {}, "pairs": []}

    def seconds(self):
        return time.monotonic() - self.began

    def say(self, what):
        print(f"{self.seconds():6.1f} s  {what}", flush=True)

    def write(self):
        Path(self.given.out).write_text(json.dumps(self.result), encoding="utf-8")

    def attempt(self, what, work):
        """Does the work, unless there is no time left to begin; if it fails, that is told."""
        if self.seconds() > self.given.until:
            self.result["failed"].append(f"{what}: no time")
            self.say(f"{what}: no time")
            return
        try:
            work()
        except Exception:
            traceback.print_exc()
            self.result["failed"].append(f"{what}: {traceback.format_exc().splitlines()[-1]}")
            self.say(f"{what}: failed")
        finally:
            self.write()
