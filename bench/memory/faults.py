"""Effects of a failing best-effort job on a service beside it: an illegal address, a failed assertion, an endless
kernel (killed after 2 s), no memory left, SIGKILL. Each request is counted. Nothing is reset and no setting changed.
faults.py [--mode isolated|mps] [--kinds illegal,assert,endless,oom,kill] [--soft]; rows of JSON on stdout."""

import argparse
import json
import time

from park import service_command
from session import HERE, PYTHON, Failed, Phases, Session, quantile, row, say

AFTER_S = 1.5


def measure(session, phases, service, rate, kind):
    part = {"arrivals": phases.arrivals(rate, 30), "announce_us": 0}
    start = phases.begin({"service": part}, 30)
    faulty = session.start(f"faulty-{kind}", [*PYTHON, str(HERE / "faulty.py"), kind], "--class", "best-effort")
    wrong_ns = faulty.until("wrong", 20)["atNs"]
    answer, ended_ns = None, None
    try:
        if kind == "endless":
            time.sleep(2)
            faulty.process.kill()
        elif kind != "kill":
            answer = faulty.until("answer", 10)["error"]
        faulty.process.wait(10)
    except Failed as failed:
        answer = str(failed)
        faulty.process.kill()
    ended_ns = time.monotonic_ns()
    time.sleep(AFTER_S)
    stop_ns = time.monotonic_ns()
    try:
        served = phases.answer("service", service, phases.rest(), 10)
    except Failed as failed:
        row("fault", kind=kind, answer=answer, service="gone", why=str(failed)[:300])
        return False
    requests = list(zip(served["arrival_ns"], served["latency_ns"], strict=True))
    before = [took for arrival, took in requests if arrival < wrong_ns]
    usual = quantile(before, 0.99)
    during = [took for arrival, took in requests if wrong_ns <= arrival < ended_ns]
    after = [took for arrival, took in requests if arrival >= ended_ns]
    due = sum(1 for line in open(part["arrivals"], encoding="utf-8") if start + int(line) < stop_ns - 50_000_000)
    row(
        "fault",
        kind=kind,
        answer=answer,
        requests=len(requests),
        lost=max(0, due - len(requests)),
        usualP99Ms=usual / 1e6,
        during={"n": len(during), "late": sum(t > 2 * usual for t in during), "maxMs": max(during, default=0) / 1e6},
        after={"n": len(after), "late": sum(t > 2 * usual for t in after), "maxMs": max(after, default=0) / 1e6},
        faultLastedMs=(ended_ns - wrong_ns) / 1e6,
    )
    return True


def start_service(session, phases, number):
    command = service_command(session.soft, phases.directory)
    began = time.monotonic()
    service = session.start(f"service-{number}", command, "--class", "high")
    phases.ready("service", service)
    return service, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=["isolated", "mps"], default="isolated")
    parser.add_argument("--kinds", default="oom,kill,illegal,assert,endless")
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--soft", action="store_true")
    given = parser.parse_args()
    with Session(given.soft, "--mode", given.mode) as session:
        phases = Phases(session.directory / "control")
        service, _ = start_service(session, phases, 0)
        for number, kind in enumerate(given.kinds.split(","), 1):
            say(kind)
            if measure(session, phases, service, given.rate, kind):
                continue
            service.process.kill()
            (phases.directory / "service.ready").unlink(missing_ok=True)
            service, took = start_service(session, phases, number)
            agent = json.loads(session.cotenant("status", "--json"))["agent"]
            row("service started again", after=kind, seconds=took, mpsRestarts=agent["mpsRestarts"])
        events = session.cotenant("events").splitlines()
        row("events", said=[line for line in events if "xid" in line or "mps" in line or "released" in line][-20:])
        phases.leave()


if __name__ == "__main__":
    main()
