"""Parking and return of much memory beside a service: how long it takes, what it does to requests, and whether every byte
is back. park.py [--gib 40] [--soft] [--rounds 4] [--seconds 20]; rows of JSON on stdout."""

import argparse
import time

from session import COTENANT, HOLDER, SERVE, Phases, Session, quantile, row, say, times


def service_command(soft, directory):
    control = ["--control", str(directory), "--name", "service"]
    if soft:
        return [*COTENANT, "load", "--graph", "--kernels", "20", "--kernel-us", "100", *control]
    return [*SERVE, "--model", "resnet50", "--batch", "4", "--dtype", "fp32", "--form", "graph", *control]


def play(phases, service, rate, seconds, announce_us=0, meanwhile=None):
    """The service's requests of that time, as it reports them; and what `meanwhile(end)` returned."""
    part = {"arrivals": phases.arrivals(rate, seconds), "announce_us": announce_us}
    start = phases.begin({"service": part}, seconds)
    result = meanwhile(start + int(seconds * 1e9)) if meanwhile else None
    played = phases.answer("service", service, phases.id, seconds + 60)
    phases.rest()
    return played, result


def closed_per_second(phases, service):
    """Requests that the service answers one after the other."""
    phases.begin({"service": {}})
    time.sleep(1.5)
    done = phases.answer("service", service, phases.rest())["done_ns"]
    return 1e9 / quantile([after - at for at, after in zip(done, done[1:], strict=False)], 0.5)


def tell_requests(during, played, spans=None):
    """Requests that came, or were there, in one of the spans."""
    latency, service = [], []
    for arrival, took, served in zip(played["arrival_ns"], played["latency_ns"], played["service_ns"], strict=True):
        if spans is None or any(arrival < end and arrival + took > begin for begin, end in spans):
            latency.append(took)
            service.append(served)
    row("requests", during=during, latency=times(latency), burst=times(service))


def cycles(session, rounds, until=None):
    """Parks and returns again and again; the moves by their direction."""
    made = {"park": [], "resume": []}
    while until is None or time.monotonic_ns() < until - 4_000_000_000:
        for wish in ("park", "resume"):
            made[wish].append(session.move(wish, "holder"))
            time.sleep(0.5)
        if until is None and len(made["park"]) >= rounds:
            break
    return made


def tell_moves(beside, made):
    for wish, moves in made.items():
        for move in moves:
            row(wish, beside=beside, **{key: value for key, value in move.items() if key != "span"})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=40)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--load", type=float, default=0.2)
    parser.add_argument("--soft", action="store_true")
    given = parser.parse_args()
    holder_command = [*HOLDER, "--gib", str(given.gib), *(["--driver"] if given.soft else [])]
    with Session(given.soft) as session:
        phases = Phases(session.directory / "control")
        service = session.start("service", service_command(given.soft, phases.directory), "--class", "high")
        holder = session.start("holder", holder_command, "--class", "best-effort", "--movable")
        phases.ready("service", service)
        ready = holder.until("ready")
        pinned = session.until_pinned("holder")
        row("holder", gib=given.gib, **ready, pinnedAfterS=pinned, memory=session.client("holder")["memory"])
        before = holder.ask("check")["sum"]
        holder.ask("work")
        say("beside an idle service")
        tell_moves("idle service", cycles(session, given.rounds))

        session.move("park", "holder")
        rate = given.load * closed_per_second(phases, service)
        row("service", rate=rate, load=given.load)
        say(f"{rate:.0f} requests/s")
        tell_requests("alone: the holder is parked", play(phases, service, rate, given.seconds / 2)[0])
        session.move("resume", "holder")
        floor, _ = play(phases, service, rate, given.seconds / 2, announce_us=1000)
        tell_requests("floor: announced, beside the holder's work", floor)
        beside, _ = play(phases, service, rate, given.seconds / 2)
        tell_requests("beside the holder's work", beside)
        moving, made = play(
            phases, service, rate, given.seconds, meanwhile=lambda end: cycles(session, given.rounds, end)
        )
        tell_moves(f"load {given.load}", made)
        for wish, during in (("park", "parking"), ("resume", "returning")):
            tell_requests(during, moving, [move["span"] for move in made[wish]])
        holder.ask("rest")
        after = holder.ask("check")
        row(
            "content",
            same=after["sum"] == before,
            before=before,
            after=after["sum"],
            longestStepMs=after.get("longestMs"),
        )
        phases.leave()


if __name__ == "__main__":
    main()
