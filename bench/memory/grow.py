"""A service whose memory grows beside a training that holds it: how long each allocation takes and each step of work after
it. grow.py [--held 60] [--gib 40] [--soft]; rows of JSON on stdout."""

import argparse

from session import GIB, HOLDER, Failed, Session, quantile, row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held", type=float, default=60, help="GiB of the training")
    parser.add_argument("--gib", type=float, default=40, help="so much does the service grow")
    parser.add_argument("--step", type=int, default=1024, help="MiB at once")
    parser.add_argument("--soft", action="store_true")
    given = parser.parse_args()
    driver = ["--driver"] if given.soft else []
    env = {"COTENANT_SOFTGPU": f"memory={int((given.held + given.gib * 0.6) * 1024)}MiB"} if given.soft else None
    with Session(given.soft, env=env) as session:
        training = session.start(
            "training", [*HOLDER, "--gib", str(given.held), *driver], "--class", "best-effort", "--movable"
        )
        training.until("ready", 180)
        service = session.start("service", [*HOLDER, "--gib", "0.1", *driver], "--class", "high")
        service.until("ready")
        row("pinned", seconds=session.until_pinned("training", 120))
        before = training.ask("check", seconds=180)["sum"]
        training.ask("work")
        usual = [service.ask("step")["ms"] for _ in range(20)]
        grows, steps, failed = [], [], None
        for _ in range(int(given.gib * 1024 / given.step)):
            try:
                grows.append(service.ask(f"grow {given.step}", "grow", 60)["ms"])
            except Failed as error:
                failed = str(error)
                break
            steps.append(service.ask("step")["ms"])
        memory = session.client("training")["memory"]
        row(
            "grown",
            gib=len(grows) * given.step / 1024,
            failed=failed,
            slowestGrowthMs=max(grows, default=None),
            over100Ms=sum(ms > 100 for ms in grows),
            stepMs={"usual": quantile(usual, 0.5), "p50": quantile(steps, 0.5), "max": max(steps, default=None)},
            slowestRequestMs=max((one + other for one, other in zip(grows, steps, strict=False)), default=None),
            parkedGib=memory["parkedBytes"] / GIB,
            state=memory["state"],
        )
        service.end()  # then the training has its memory back
        waited = session.until("the training is back", lambda: session.client("training")["memory"]["state"] == "open")
        training.ask("rest", seconds=60)
        row("content", backAfterS=waited, same=training.ask("check", seconds=180)["sum"] == before)


if __name__ == "__main__":
    main()
