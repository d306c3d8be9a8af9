"""A high or a best-effort job without a GPU: obeys the control files, and sleeps where one would compute.

  fake.py serve|train --us TIME [--slower FACTOR] --control DIR --name NAME
While DIR/busy exists a serve takes FACTOR times as long: the train makes it while it iterates. FAKE_FACTOR in
the environment, as a prefix would set it, makes everything so many times longer.
"""

import argparse
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../workloads"))
from control import Control  # noqa: E402
from openloop import play, read_arrivals  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("job", choices=["serve", "train", "crash"])
parser.add_argument("--us", type=float, default=2000)
parser.add_argument("--slower", type=float, default=1)
parser.add_argument("--control", required=True)
parser.add_argument("--name", required=True)
given = parser.parse_args()
if given.job == "crash":
    sys.exit("no such GPU")

unit = given.us / 1e6 * float(os.environ.get("FAKE_FACTOR", "1"))
control = Control(given.control, given.name)
busy = os.path.join(given.control, "busy")


def serve(_request):
    time.sleep(unit * (given.slower if os.path.exists(busy) else 1))


def iterate(phase):
    done = []
    with open(busy, "w", encoding="utf-8"):
        pass
    while control.phase().id == phase.id:
        time.sleep(unit * (given.slower if phase.serve else 1))
        done.append(time.monotonic_ns())
    os.remove(busy)
    return done


control.ready(service_p50_ns=int(given.us * 1000))
for phase in control.phases():
    if given.job == "serve" and phase.serve:
        played = play(read_arrivals(phase.arrivals), phase.start_ns, serve)
        control.report(phase, **played)
    if given.job == "train" and phase.train:
        control.report(phase, done_ns=iterate(phase))
