"""waits.py SECONDS HIGH BEST-EFFORT: a service's requests, and a training that is stopped and continued in turn: a row of JSON.

Of each request, its own time (until everything is submitted) and what it then waited for the GPU. HIGH and
BEST-EFFORT name entries of bench/jobs.json; the training starts with the lower priority of MPS, if there is a daemon.
"""

import gc
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

workloads = Path(__file__).parents[2] / "workloads"
sys.path.insert(0, str(workloads))

from serve import Server, options  # noqa: E402  (after the path: the workloads are no package)

PHASE_S = 1.9
# A training that is stopped has launched ahead.
SETTLE_S = 0.6
RATE_PER_S = 63
START_S = 40
QUANTILES = (0.1, 0.5, 0.9, 0.95, 0.99)


def main(seconds, high, best_effort):
    jobs = json.loads((workloads.parent / "bench/jobs.json").read_text())
    # The words after the interpreter and the script are the service's own options.
    server = Server(options(command(jobs[high])[2:]))
    for request in range(300):
        server.serve(request)
    with tempfile.TemporaryFile("w+") as said:
        training = start([*command(jobs[best_effort]), "--seconds", str(seconds + 100)], said)
        try:
            await_ready(training, said)
            gc.disable()
            phases = [phase(server, training, n % 2 == 1) for n in range(int(seconds / (PHASE_S + SETTLE_S)))]
            if training.poll() is not None:
                raise SystemExit(f"waits.py: {best_effort} ended before the requests did")
        finally:
            if training.poll() is None:
                os.killpg(training.pid, signal.SIGKILL)
    row = {"high": high, "bestEffort": best_effort, "ratePerS": RATE_PER_S}
    for name, company in (("alone", 0), ("company", 1)):
        row[name] = summary([request for each in phases[company::2] for request in each])
    print(json.dumps(row), flush=True)


def command(job):
    return shlex.split(job["run"].format(workloads=workloads))


def start(words, said):
    env = dict(os.environ, CUDA_MPS_CLIENT_PRIORITY="1")
    return subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True)


def await_ready(training, said):
    end = time.monotonic() + START_S
    while time.monotonic() < end and training.poll() is None:
        said.seek(0)
        if "ready" in said.read():
            time.sleep(1)
            return
        time.sleep(0.2)
    said.seek(0)
    raise SystemExit(f"waits.py: the training did not start: {said.read().strip()[-400:]}")


def phase(server, training, company):
    """(own ms, waited ms) of each request; company: whether the training runs beside them."""
    os.killpg(training.pid, signal.SIGCONT if company else signal.SIGSTOP)
    time.sleep(SETTLE_S)
    chance = random.Random(1)
    requests = []
    due = time.perf_counter()
    end = due + PHASE_S
    while due < end:
        due += chance.expovariate(RATE_PER_S)
        while (left := due - time.perf_counter()) > 0:
            time.sleep(min(left, 0.01))
        requests.append(timed(server, len(requests)))
    return requests


def timed(server, request):
    begun = time.monotonic_ns()
    submitted = server.serve(request)
    return (submitted - begun) / 1e6, (time.monotonic_ns() - submitted) / 1e6


def summary(requests):
    def quantiles(values):
        ordered = sorted(values)
        return {f"p{round(q * 100)}": round(ordered[int(q * len(ordered))], 4) for q in QUANTILES}

    return {
        "requests": len(requests),
        "ownMs": quantiles(own for own, _ in requests),
        "waitedMs": quantiles(waited for _, waited in requests),
        "burstMs": quantiles(own + waited for own, waited in requests),
    }


if __name__ == "__main__":
    main(float(sys.argv[1]), *sys.argv[2:])
