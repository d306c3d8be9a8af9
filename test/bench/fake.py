"""A job without a GPU: obeys the control files, and sleeps where one would compute.

  fake.py serve|train --us TIME [--slower FACTOR] [--dies-in PHASES] --control DIR --name NAME
While DIR/busy exists a serve takes FACTOR times as long, and a train beside a serve always does: the train
makes the file while it iterates.
"""

import argparse
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../workloads"))
from control import Control  # noqa: E402
from openloop import closed, play, read_arrivals  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("job", choices=["serve", "train", "crash"])
parser.add_argument("--us", type=float, default=2000)
parser.add_argument("--slower", type=float, default=1)
parser.add_argument("--dies-in", type=int, help="ends in the middle of so manieth part")
parser.add_argument("--only-in", default="", help="only a process of this name dies")
parser.add_argument("--check", action="store_true")
parser.add_argument("--control")
parser.add_argument("--name")
given = parser.parse_args()
if given.check:
    sys.exit("fake.py: no such GPU" if given.job == "crash" else 0)

unit = given.us / 1e6
control = Control(given.control, given.name)
busy = os.path.join(given.control, "busy")
serving = os.path.join(given.control, "serving")


def one(_request=0):
    company = busy if given.job == "serve" else serving
    time.sleep(unit * (given.slower if os.path.exists(company) else 1))


control.ready(label=f"fake {given.job}")
parts = 0
for phase in control.phases():
    parts += 1
    dying = parts == given.dies_in and given.only_in in given.name
    mark = serving if given.job == "serve" else busy
    with open(mark, "w", encoding="utf-8"):
        pass
    if dying:
        time.sleep(0.2)
        os.remove(mark)
        sys.exit("the GPU has fallen off the bus")

    def still(of=phase):
        return control.still(of)

    if phase.arrivals:
        done = play(read_arrivals(phase.arrivals), phase.start_ns, one, still)
    else:
        done = closed(one, still)
    os.remove(mark)
    control.report(phase, **done)
