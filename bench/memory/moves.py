"""Jobs taken off the GPU by the driver's checkpoint of their process, and moved to another GPU where there are two: one that was
started without --movable and one with it, beside an idle service. moves.py [--gib 40] [--rounds 2] [--soft]; rows of JSON on stdout.
`outMs` and `backMs` are what the job says, `wallMs` what a command took from its start."""

import argparse
import json
import time

from session import HOLDER, Failed, Session, row

JOBS = {"fixed": ["--class", "best-effort"], "movable": ["--class", "best-effort", "--movable"]}


def gpus(session):
    return [gpu["uuid"] for gpu in json.loads(session.cotenant("status", "--json"))["gpus"]]


def where(session, name):
    for gpu in json.loads(session.cotenant("status", "--json"))["gpus"]:
        if any(client["name"] == name for client in gpu["bestEffort"]):
            return gpu["uuid"]
    raise Failed(f"{name} is on no GPU")


def move(session, name):
    """To the other GPU."""
    before = where(session, name)
    to = next(uuid for uuid in gpus(session) if uuid != before)
    began = time.monotonic()
    session.cotenant("move", name, "--to", to, seconds=400)
    row("move", job=name, wallMs=(time.monotonic() - began) * 1e3, arrived=where(session, name) == to)


def full_at_return(session, name, job, command):
    """Another job has its place when it is to come back."""
    session.move("park", name)
    other = session.start("other", command, *JOBS["fixed"])
    other.until("ready", 240)
    try:
        session.cotenant("resume", name, seconds=60)
        row("full", job=name, refused=False)
    except Failed as failed:
        row("full", job=name, refused=True, why=str(failed).splitlines()[0])
    other.end()
    began = time.monotonic()
    job.ask("step")
    row("back", job=name, afterS=time.monotonic() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=40)
    parser.add_argument("--full", type=float, default=0, help="GiB of a job that takes the place meanwhile; 0: none")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--soft", action="store_true")
    given = parser.parse_args()
    driver = ["--driver"] if given.soft else []
    command = [*HOLDER, "--gib", str(given.gib), *driver]
    env = {"COTENANT_SOFTGPU": "devices=2"} if given.soft else None
    with Session(given.soft, env=env) as session:
        service = session.start("service", [*HOLDER, "--gib", "1", *driver], "--class", "high")
        service.until("ready", 240)
        for name, options in JOBS.items():
            job = session.start(name, command, *options)
            try:
                job.until("ready", 240)
                before = job.ask("check", seconds=240)["sum"]
                if name == "movable":
                    session.until_pinned(name, 120)
                else:
                    for number in range(given.rounds):
                        out, back = session.move("park", name), session.move("resume", name)
                        row(
                            "park",
                            job=name,
                            round=number,
                            gib=out["gib"],
                            **{f"out{key[:1].upper()}{key[1:]}": out[key] for key in ("ownMs", "wallMs")},
                            **{f"back{key[:1].upper()}{key[1:]}": back[key] for key in ("ownMs", "wallMs")},
                        )
                for _ in range(given.rounds if len(gpus(session)) > 1 else 0):
                    move(session, name)
                if given.full and name == "fixed":
                    full_at_return(session, name, job, [*HOLDER, "--gib", str(given.full), *driver])
                row("content", job=name, same=job.ask("check", seconds=240)["sum"] == before)
                job.ask("work")
                time.sleep(1)
                row("works", job=name, steps=job.ask("rest")["steps"])
            except Failed as failed:
                row("failed", job=name, why=str(failed))
            job.end()


if __name__ == "__main__":
    main()
