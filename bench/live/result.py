"""Rows of JSON on stdin become a result: result.py OUT.json COMMAND… COMMIT names the code where there is no git."""

import json
import os
import subprocess
import sys
from datetime import datetime, timezone


def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


gpu, _, driver = said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0").partition(
    ", "
)
result = {
    "version": 1,
    "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    "machine": {"gpu": gpu or "software GPU", "driver": driver, "cpus": os.cpu_count()},
    "commit": os.environ.get("COMMIT") or said("git", "describe", "--always", "--dirty"),
    "command": " ".join(sys.argv[2:]),
    "rows": [json.loads(line) for line in sys.stdin if line.startswith("{")],
}
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(result, file, indent=1)
    file.write("\n")
