"""Two jobs that do not fit together: what one does alone, and both in turns. alternate.py [--gib 51.2] [--seconds 100] [--soft];
rows of JSON on stdout. `sumOfShares` is the sum of both throughputs over that of one alone."""

import argparse
import time

from session import GIB, HOLDER, Session, row

MOVABLE = ["--class", "best-effort", "--movable"]


def steps_of(session, name):
    path = session.directory / f"{name}.count"
    return int(path.read_text() or 0) if path.exists() else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=51.2)
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--quantum", default="auto")
    parser.add_argument("--soft", action="store_true")
    given = parser.parse_args()
    command = [*HOLDER, "--gib", str(given.gib), *(["--driver"] if given.soft else [])]
    env = {"COTENANT_SOFTGPU": f"memory={int(given.gib * 1.4 * 1024)}MiB"} if given.soft else None
    with Session(given.soft, "--quantum", given.quantum, env=env) as session:
        jobs = {}

        def start(name):
            count = ["--count", str(session.directory / f"{name}.count")]
            jobs[name] = session.start(name, [*command, *count], *MOVABLE)
            jobs[name].until("ready", 240)
            return jobs[name].ask("check", seconds=240)["sum"]

        sums = {"first": start("first")}
        row("pinned", job="first", seconds=session.until_pinned("first", 120))
        jobs["first"].ask("work")
        time.sleep(1)
        began, at = time.monotonic(), steps_of(session, "first")
        time.sleep(min(10.0, given.seconds / 4))
        alone = (steps_of(session, "first") - at) / (time.monotonic() - began)
        row("alone", stepsPerS=alone)

        began = time.monotonic()
        sums["second"] = start("second")
        jobs["second"].ask("work")
        row("start", job="second", seconds=time.monotonic() - began, first=session.client("first")["memory"])
        began = time.monotonic()
        at = {name: steps_of(session, name) for name in jobs}
        while time.monotonic() - began < given.seconds:
            time.sleep(2)
            looks = {}
            for name in jobs:
                memory = session.client(name)["memory"]
                looks[name] = [memory["state"], memory["parkedBytes"] / GIB, steps_of(session, name) - at[name]]
            row("look", s=time.monotonic() - began, **looks)
        lasted = time.monotonic() - began
        shares = {name: (steps_of(session, name) - at[name]) / lasted / alone for name in jobs}
        memory = {name: session.client(name)["memory"] for name in jobs}
        moves = {name: [one.get("parkMs"), one.get("returnMs")] for name, one in memory.items()}
        row("turns", seconds=lasted, shares=shares, sumOfShares=sum(shares.values()), lastMovesMs=moves)
        for name, job in jobs.items():
            job.ask("rest", seconds=240)
            row("content", job=name, same=job.ask("check", seconds=240)["sum"] == sums[name])
            job.end()


if __name__ == "__main__":
    main()
