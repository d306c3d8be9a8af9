"""Plans pairs of networks for two SM partitions of one GPU, runs the plans and what else one could do.

  python3 workloads/partitions/run.py --cotenant bin/cotenant-lab --out result.json

Measures layer groups on both partitions, hands them to `cotenant-lab soc plan`, launches what was planned into the streams
of two green contexts, and in the same rounds: each network on a partition, both ways; all on one GPU, one network
after the other and both at once. Needs PyTorch, torchvision, nvcc and a GPU from Hopper on.
"""

import argparse
import os

from report import Report

PAIRS = "resnet50+vgg16,inception-v3+densenet201,vit-b16+googlenet"


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--cotenant", required=True, help="the command cotenant-lab")
    add("--out", required=True, help="JSON; written again after every step")
    add("--pairs", default=PAIRS, help="A+B,C+D,…")
    add("--probes", default="mobilenet-v2,resnet101", help="networks that tell what load others are")
    add("--more", default="", help="pairs to run if there is time left")
    add("--batch", type=int, default=16)
    add("--small", type=int, default=32, help="SMs of the smaller partition")
    add("--rounds", type=int, default=40)
    add("--solve-seconds", type=float, default=8, help="per plan")
    add("--until", type=float, default=1e9, help="begin nothing after so many seconds")
    add("--memory-gbs", type=float, default=4800, help="the memory's highest throughput")
    add("--beside", type=float, default=0, help="seconds to watch a network with and without a solver beside it")
    return parser.parse_args()


def main():
    given = options()
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
    report = Report(given)
    # PyTorch takes seconds; options are looked at without it.
    from session import Session

    Session(given, report).run()
    report.write()
    report.say("done")


if __name__ == "__main__":
    main()
