"""The cost of movable memory for trainings, and whether they compute the same: iterations a second native and with --movable, in
turns in the same minute; losses of a native run, of a movable one, and of one that is parked and returned in between.
Three processes of a model are there at once. trainings.py [--models gpt2-large:2,bert-large,resnet50] (a model:batch) [--rounds 4]
[--expandable] [--soft]; rows of JSON on stdout. --expandable: all have PyTorch's expandable segments, which it maps itself."""

import argparse
import time
from statistics import median

from session import COTENANT, TRAIN, Failed, Phases, Session, row, say

EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
MOVABLE = ["--class", "best-effort", "--movable"]


def per_second(done_ns):
    return (len(done_ns) - 1) / (done_ns[-1] - done_ns[0]) * 1e9 if len(done_ns) > 1 else None


def train(model):
    name, _, batch = model.partition(":")
    return [*TRAIN, "--model", name, *(["--batch", batch] if batch else [])]


def compare_speed(session, model, rounds, seconds):
    phases = Phases(session.directory / f"control-{model}")
    control = ["--control", str(phases.directory)]
    command = (
        [*COTENANT, "load", "--kernels", "20", "--kernel-us", "500", *control]
        if session.soft
        else [*train(model), *control]
    )
    ways = {
        "native": session.start(f"{model}-native", [*command, "--name", "native"]),
        "best-effort": session.start(f"{model}-fixed", [*command, "--name", "best-effort"], "--class", "best-effort"),
        "movable": session.start(f"{model}-movable", [*command, "--name", "movable"], *MOVABLE),
    }
    for way, program in ways.items():
        phases.ready(way, program, 180)
    rates = {way: [] for way in ways}
    for number in range(-1, rounds):  # the first one warms up, and takes the rest of the memory
        if number == 0 and not session.soft:
            session.until_pinned(f"{model}-movable")
        for way in list(ways)[:: 1 if number % 2 else -1]:
            phases.begin({way: {}})
            time.sleep(0.2 + seconds)
            done = phases.answer(way, ways[way], phases.rest())["done_ns"]
            if number >= 0:
                rates[way].append(per_second(done))
    client = session.client(f"{model}-movable") or {}
    phases.leave()
    for program in ways.values():
        program.end(30)
    memory = client.get("memory") or {}
    asked = client.get("memoryUsed", 0) - memory.get("unmovableBytes", 0)
    own = [one / other for one, other in zip(rates["movable"], rates["native"], strict=True)]
    beside = [one / other for one, other in zip(rates["movable"], rates["best-effort"], strict=True)]
    row(
        "speed",
        model=model,
        perSecond=rates,
        movableToNative=median(own),
        movableToBestEffort=median(beside),
        memoryPhysical=memory.get("bytes"),
        memoryAsked=asked,
        memoryOverhead=memory["bytes"] / asked - 1 if asked and memory else None,
        unmovableBytes=memory.get("unmovableBytes"),
        unmovable=memory.get("unmovable"),
        allocator=session.env.get("PYTORCH_CUDA_ALLOC_CONF"),
    )


def compare_losses(session, model, losses):
    """A native run, a movable one, and one that is parked in between, at the same time."""
    command = [*train(model), "--losses", str(losses), "--iterations", str(losses)]
    ways = {
        "native": session.start(f"{model}-losses-native", command),
        "movable": session.start(f"{model}-losses-movable", command, *MOVABLE),
        "parked": session.start(f"{model}-losses-parked", command, *MOVABLE),
    }
    name = f"{model}-losses-parked"
    session.until(f"{name} trains", lambda: ((session.client(name) or {}).get("launches") or 0) > 1000, 120)
    moves = 0
    for wish in ("park", "resume") * 2:
        try:
            moved = session.move(wish, name)
        except Failed as failed:
            say(str(failed))
            break
        moves += 1
        row(wish, beside=f"training {model}", ownMs=moved["ownMs"], gib=moved["gib"])
        time.sleep(0.3)
    client = session.client(name) or {}
    launches = client.get("launches")
    memory = client.get("memory") or {}
    digests = {way: program.until("digest", 180) for way, program in ways.items()}
    row(
        "losses",
        model=model,
        same=len(set(digests.values())) == 1,
        digests=digests,
        moves=moves,
        launchesAfterTheLastMove=launches,
        allocator=session.env.get("PYTORCH_CUDA_ALLOC_CONF"),
        movableBytes=memory.get("bytes"),
        unmovableBytes=memory.get("unmovableBytes"),
        unmovable=memory.get("unmovable"),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="gpt2-large:2,bert-large,resnet50")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--losses", type=int, default=60)
    parser.add_argument("--only", choices=["speed", "losses"])
    parser.add_argument("--expandable", action="store_true")
    parser.add_argument("--soft", action="store_true")
    given = parser.parse_args()
    with Session(given.soft, env=EXPANDABLE if given.expandable else None) as session:
        for model in given.models.split(","):
            parts = [("speed", lambda: compare_speed(session, model, given.rounds, given.seconds))]  # noqa: B023
            if not given.soft:
                parts.append(("losses", lambda: compare_losses(session, model, given.losses)))  # noqa: B023
            for part, measure in parts:
                if given.only not in (None, part):
                    continue
                say(f"{model}: {part}")
                try:
                    measure()
                except Failed as failed:
                    row("failed", model=model, part=part, why=str(failed))
                    for program in session.programs:
                        program.process.kill()


if __name__ == "__main__":
    main()
