"""A service and a training in one process: two threads, two CUDA streams, the service's with high priority.

What PyTorch alone offers for sharing a GPU, as a baseline. Under a harness it is two jobs:

  streams.py --high '--model resnet50' --best-effort '--model gpt2-large' \\
    --control DIR --high-name A --best-effort-name B
"""

import os
import shlex
import sys
import threading
import traceback

import iterating
import serve
import serving
import train
from check import Parser
from control import Control

# How long a thread may keep the interpreter while the other wants it. The default, 5 ms, is longer than
# most requests.
SWITCH_SECONDS = 0.0001


def options():
    parser = Parser("streams.py", __doc__)
    add = parser.add_argument
    add("--high", required=True, help="options of serve.py")
    add("--best-effort", required=True, help="options of train.py")
    add("--control", required=True, help="directory of a harness")
    add("--high-name", default="high", help="what the harness calls the service")
    add("--best-effort-name", default="best-effort", help="what the harness calls the training")
    given = parser.parse_args()
    # Before the rest is looked at, so that each half checks its own options and packages.
    asked = ["--check"] if given.check else []
    given.high = half(given.high, asked, lambda argv: serve.options(argv, "streams.py --high"))
    given.best_effort = half(
        given.best_effort,
        asked,
        lambda argv: train.options(argv, train.parser("streams.py --best-effort")),
    )
    return parser.checked(given, ())


def half(text, asked, parse):
    try:
        return parse([*shlex.split(text), *asked])
    except SystemExit as end:
        if end.code:
            raise
        return None


class Half(threading.Thread):
    """A thread that works on a stream of its own; whatever goes wrong in it ends the process."""

    def __init__(self, work, priority):
        super().__init__()
        self.work = work
        self.priority = priority
        self.built = threading.Event()

    def run(self):
        import torch

        try:
            with torch.cuda.stream(torch.cuda.Stream(priority=self.priority)):
                self.work(self.built.set)
        except BaseException as fault:
            # One that ends a program by itself is a sentence for the user.
            if isinstance(fault, SystemExit):
                print(fault, file=sys.stderr, flush=True)
            else:
                traceback.print_exc()
            os._exit(1)


def main():
    given = options()
    import torch

    sys.setswitchinterval(SWITCH_SECONDS)
    # The context, and all that is made with it, before there are threads.
    torch.zeros(1, device="cuda")
    sized = []

    def service(built):
        server = serve.Server(given.high)
        serving.warm_up(server.serve)
        facts = server.facts()
        sized.append(facts["memory_bytes"])
        built()
        serving.directed(Control(given.control, given.high_name), server.serve, facts)

    def training(built):
        trainer = train.Trainer(given.best_effort)
        trainer.warm_up()
        facts = trainer.facts()
        facts["memory_bytes"] -= sized[0]
        built()
        iterating.directed(Control(given.control, given.best_effort_name), trainer.iterate, facts)

    # One after the other: while a CUDA graph is captured nobody else may allocate.
    halves = [Half(service, -1), Half(training, 0)]
    for one in halves:
        one.start()
        one.built.wait()
    for one in halves:
        one.join()


if __name__ == "__main__":
    main()
