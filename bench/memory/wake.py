"""A service that sleeps: how long its first request takes that wakes it. wake.py [--gib 15] [--rounds 5] [--soft]; rows of JSON
on stdout. `ms` is the request as the service sees it, `firstAnswerMs` the agent's record."""

import argparse

from session import GIB, HOLDER, Session, quantile, row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--soft", action="store_true")
    given = parser.parse_args()
    command = [*HOLDER, "--gib", str(given.gib), *(["--driver"] if given.soft else [])]
    with Session(given.soft) as session:
        service = session.start("service", command, "--class", "high", "--park-after", "1s")
        service.until("ready")
        awake = [service.ask("step")["ms"] for _ in range(20)]
        took = []
        for _ in range(given.rounds):
            session.until("it sleeps", lambda: session.client("service")["memory"]["state"] == "parked", 90)
            took.append(service.ask("step")["ms"])
            session.until("it is told", lambda: session.client("service")["memory"]["woken"] >= len(took), 20)  # noqa: B023
            memory = session.client("service")["memory"]
            row(
                "wake",
                ms=took[-1],
                firstAnswerMs=memory["firstAnswerMs"],
                gib=memory["bytes"] / GIB,
                **{key: memory.get(key) for key in ("parkMs", "returnMs")},
            )
        row("wakes", awakeMs=quantile(awake, 0.5), p50Ms=quantile(took, 0.5), maxMs=max(took))
        first = service.ask("check")["sum"]
        session.until("it sleeps", lambda: session.client("service")["memory"]["state"] == "parked", 90)
        row("content", same=service.ask("check")["sum"] == first)


if __name__ == "__main__":
    main()
