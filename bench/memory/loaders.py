"""A service that launches kernel by kernel, beside a training with 32 data loaders that use all the CPU they get: with `--host-guard`
and without it. loaders.py [--rounds 3] [--seconds 8] [--loaders 32] [--load 0.2] [--soft]; rows of JSON on stdout. In each round the loaders are
stopped for a window and run for a window. Needs root, for the cgroup."""

import argparse
import os
import signal
import sys
import time

from park import closed_per_second, play
from session import COTENANT, HERE, SERVE, TRAIN, Phases, Session, row, say, times


def commands(soft, directory):
    control = ["--control", str(directory), "--name", "service"]
    if soft:
        service = [*COTENANT, "load", "--kernels", "100", "--kernel-us", "10", *control]
        return service, [*COTENANT, "load", "--arrivals", "closed", "--kernel-us", "200", "--seconds", "3600"]
    service = [*SERVE, "--model", "resnet50", "--batch", "4", "--dtype", "fp32", "--form", "eager", *control]
    return service, [*TRAIN, "--model", "resnet50", "--seconds", "3600"]


def guards():
    """Half of the CPUs, and a tenth of the weight on them."""
    cpus = os.cpu_count() or 1
    few = [f"cpus={cpus // 2}-{cpus - 1}", "weight=10"]
    return {"none": [], " ".join(few): [word for limit in few for word in ("--host-guard", limit)]}


def measure(given, name, options, rate):
    """`rate` of requests, None: that of --load. The bursts of the windows by what the loaders did, and the rate."""
    with Session(given.soft, *options) as session:
        phases = Phases(session.directory / "control")
        serve, train = commands(given.soft, phases.directory)
        service = session.start("service", serve, "--class", "high")
        loading = [sys.executable, str(HERE / "loading.py"), "--loaders", str(given.loaders), "--", *train]
        job = session.start("job", loading, "--class", "best-effort")
        loaders = job.until("loaders")["loaders"]
        phases.ready("service", service)
        session.until("the job is on the GPU", lambda: (session.client("job") or {}).get("launches", 0) > 0)
        time.sleep(3)  # it is moved within a second
        rate = rate or given.load * closed_per_second(phases, service)
        say(f"guard {name}: {rate:.0f} requests/s")
        seen = {"stopped": ([], []), "run": ([], [])}
        for _ in range(given.rounds):
            for how, (latency, burst) in seen.items():
                for pid in loaders:
                    os.kill(pid, signal.SIGCONT if how == "run" else signal.SIGSTOP)
                time.sleep(0.5)
                played, _nothing = play(phases, service, rate, given.seconds)
                latency += played["latency_ns"]
                burst += played["service_ns"]
        for how, (latency, burst) in seen.items():
            row("requests", guard=name, loaders=how, ratePerS=rate, latency=times(latency), burst=times(burst))
        phases.leave()
    return {how: times(burst) for how, (_, burst) in seen.items()}, rate


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--loaders", type=int, default=32)
    parser.add_argument("--load", type=float, default=0.2)
    parser.add_argument("--soft", action="store_true")
    given = parser.parse_args()
    rate = None
    for name, options in guards().items():
        of, rate = measure(given, name, options, rate)
        row("ratio", guard=name, **{key: of["run"][key] / of["stopped"][key] for key in ("p50Ms", "p99Ms")})


if __name__ == "__main__":
    main()
