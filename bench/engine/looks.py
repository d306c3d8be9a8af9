"""Reports of a bench's agents about their services: a line of JSON for each every 3 s, until a signal (looks.py).

launch-bound.sh keeps these lines beside its result. They tell what the policy did during the windows.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EVERY_S = 3
COMMAND = ["node", str(Path(__file__).parents[2] / "bin" / "cotenant"), "status", "--json"]
RULES = (
    *("graceUs", "graceLaunches", "coRunSliceUs", "coRunEveryUs", "coRunUntilUs", "coRunUntilLaunches"),
    *("chunkUs", "resumeDelayUs"),
)
SERVICE = ("activeShare", "bursts", "launches", "burstP50Us", "burstWaitP50Us", "objective", "gaps", "unit", "steps")
JOB = ("gpuShare", "heldShare", "turnShare")


def status_of(directory):
    """None where no agent answers."""
    said = subprocess.run(
        COMMAND, env={**os.environ, "COTENANT_DIR": str(directory)}, capture_output=True, check=False, text=True
    )
    return json.loads(said.stdout) if said.returncode == 0 else None


def rows_of(status):
    """One for each GPU that has a service: its rules, that service, and the first best-effort job."""
    for gpu in status["gpus"]:
        if not gpu.get("served") or not gpu["high"]:
            continue
        row = {name: gpu["served"]["rules"][name] for name in RULES}
        for client, names in ((gpu["high"][0], SERVICE), ((gpu["bestEffort"] or [{}])[0], JOB)):
            row.update({name: client.get(name) for name in names})
        yield row


def agents(directories):
    """The folders of the agents that are asked: those given, or all of a bench that runs now."""
    if directories:
        return directories
    return [file.parent for file in sorted(Path(tempfile.gettempdir()).glob("cotenant-bench-*/*/agent.json"))]


def main():
    begin = time.monotonic()
    directories = [Path(argument) for argument in sys.argv[1:]]
    while True:
        for directory in agents(directories):
            status = status_of(directory)
            for row in rows_of(status) if status else ():
                second = round(time.monotonic() - begin, 1)
                print(json.dumps({"second": second, "agent": directory.name, **row}), flush=True)
        time.sleep(EVERY_S)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
