"""Best-effort training: iterations back to back on synthetic data, as fast as they go.

Losses stay on the GPU; every --sync-every iterations one is read, as training loops do, so between those
the CPU runs ahead. Alone (--seconds or --iterations), or directed by a harness (--control, see
control.py), which says when to iterate and when to stand still.
"""

import argparse
import sys
import time

from control import Control

SIZES = {"gpt2-large": (8, 512), "resnet50": (64, 0), "bert-large": (8, 384)}
BATCHES = 4


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=list(SIZES), default="gpt2-large")
    parser.add_argument("--batch", type=int, help="8 (gpt2-large, bert-large), 64 (resnet50)")
    parser.add_argument("--sequence", type=int, help="tokens: 512 (gpt2-large), 384 (bert-large)")
    parser.add_argument(
        "--dtype",
        choices=["autocast", "bf16", "fp32"],
        help="autocast to bf16 (default, but for bert-large: fp32), whole model in bf16, or fp32",
    )
    parser.add_argument("--sync-every", type=int, default=10, help="iterations; 0 = never")
    parser.add_argument("--iterations", type=int, help="stop after so many")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--losses", type=int, metavar="N", help="exact arithmetic; print SHA-256 of N losses"
    )
    parser.add_argument("--times", help="write the time each iteration was done, ns, one a line")
    parser.add_argument("--control", help="directory of a harness")
    parser.add_argument("--name", default="train", help="what the harness calls this process")
    return parser.parse_args()


class Trainer:
    def __init__(self, given):
        import torch

        from models import DTYPES, Training, training_batch

        self.torch = torch
        torch.manual_seed(given.seed)
        chance = torch.Generator().manual_seed(given.seed)
        batch, length = SIZES[given.model]
        batch, length = given.batch or batch, given.sequence or length
        dtype = given.dtype or ("fp32" if given.model == "bert-large" else "autocast")
        self.autocast = dtype == "autocast"
        self.model = Training(given.model).to("cuda", DTYPES.get(dtype, torch.float32)).train()
        # The backward pass of channels-last pooling adds in no fixed order.
        self.channels_last = given.model == "resnet50" and given.losses is None
        if self.channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.dtype = DTYPES.get(dtype, torch.float32)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        made = [training_batch(given.model, batch, length, chance) for _ in range(BATCHES)]
        self.batches = [tuple(self._kept(part) for part in parts) for parts in made]
        self.sync_every = given.sync_every
        self.losses = []
        self.keep_losses = given.losses or 0
        self.iterations = 0

    def _kept(self, part):
        if part.is_floating_point():
            part = part.to(self.dtype)
        if self.channels_last and part.dim() == 4:
            part = part.contiguous(memory_format=self.torch.channels_last)
        return part.pin_memory()

    def step(self):
        torch = self.torch
        kept = self.batches[self.iterations % BATCHES]
        batch = [part.to("cuda", non_blocking=True) for part in kept]
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.autocast):
            loss = self.model(*batch)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.iterations += 1
        if len(self.losses) < self.keep_losses:
            self.losses.append(loss.detach())
        if self.sync_every and self.iterations % self.sync_every == 0:
            loss.item()

    def iterate_while(self, more):
        """Iterates as long as more() says so; returns when each iteration was done on the GPU.

        Each leaves a timing event behind, and all are read at the end against one whose host time is
        known: no wait that a training would not have.
        """
        cuda = self.torch.cuda
        cuda.synchronize()
        base = cuda.Event(enable_timing=True)
        base.record()
        base.synchronize()
        base_ns = time.monotonic_ns()
        events = []
        while more():
            self.step()
            done = cuda.Event(enable_timing=True)
            done.record()
            events.append(done)
        cuda.synchronize()
        return [base_ns + int(base.elapsed_time(done) * 1e6) for done in events]


def alone(trainer, given):
    for _ in range(3 if given.losses is None else 0):
        trainer.step()
    first = trainer.iterations
    end = time.monotonic() + given.seconds

    def more():
        if given.iterations is not None:
            return trainer.iterations - first < given.iterations
        return time.monotonic() < end

    times = trainer.iterate_while(more)
    if given.times:
        with open(given.times, "w", encoding="utf-8") as file:
            file.writelines(f"{ns}\n" for ns in times)
    if len(times) > 1:
        rate = (len(times) - 1) / (times[-1] - times[0]) * 1e9
        print(f"iterations {len(times)}, {rate:.4f} a second")


def directed(trainer, given):
    control = Control(given.control, given.name)
    for _ in range(3):
        trainer.step()
    trainer.torch.cuda.synchronize()
    control.ready(model=given.model)
    for phase in control.phases():
        if phase.train:
            done = trainer.iterate_while(lambda: control.phase().id == phase.id)
            control.report(phase, done_ns=done)


def main():
    given = options()
    if given.losses is not None:
        from exact import make_exact

        make_exact(given.seed)
    trainer = Trainer(given)
    print(f"{given.model} ready", file=sys.stderr, flush=True)
    (directed if given.control else alone)(trainer, given)
    if given.losses is not None:
        from exact import digest

        print(f"digest {digest(trainer.losses)} of {len(trainer.losses)} losses", flush=True)


if __name__ == "__main__":
    main()
