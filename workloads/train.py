"""Best-effort training: iterations back to back on synthetic data, as fast as they go.

Losses stay on the GPU; every --sync-every iterations one is read, as training loops do, so between those
the CPU runs ahead. Alone for itself, or directed by a harness (--control): see iterating.py.
"""

import iterating
from check import Parser
from iterating import TorchJob
from models import MODELS, TRAINED, torch_dtype, training

BATCHES = 4


def parser(prog="train.py", doc=__doc__):
    made = Parser(prog, doc)
    add = made.add_argument
    add("--model", default="gpt2-large", help=", ".join(TRAINED))
    add("--batch", type=int, help="the model's own default otherwise")
    add("--sequence", type=int, help="tokens of a text, points of a cloud")
    add(
        "--dtype",
        choices=["autocast", "bf16", "fp32"],
        help="autocast to bf16, whole model in bf16, or fp32; the model's own default otherwise",
    )
    add(
        "--compile",
        nargs="?",
        choices=["model", "layers"],
        const="model",
        help="through torch.compile: the whole model; or its repeated layers, with their products by Triton, too",
    )
    add("--marks", action="store_true", help="NVTX ranges, and report where each pass begins")
    add("--losses", type=int, metavar="N", help="exact arithmetic; print SHA-256 of N losses")
    iterating.add_options(made, "train")
    return made


def options(argv=None, made=None):
    made = made or parser()
    given = made.parse_args(argv)
    if given.model in MODELS and given.model not in TRAINED:
        made.error(f'"{given.model}" is only served, not trained (trained: {", ".join(TRAINED)})')
    default = made.look_up(given.model, TRAINED)
    wanted = {what: getattr(given, what) for what in ("batch", "sequence", "dtype")}
    given.shape = made.shape(default, **wanted)
    return made.checked(given, MODELS[given.model].packages)


def compile_layers(model):
    """Each repeated layer by itself, which takes the compiler once for all of them; matrix products, too, are Triton's."""
    from torch.nn import ModuleList

    products = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON"}
    for layers in model.modules():
        if isinstance(layers, ModuleList) and len(layers) > 1:
            for layer in layers:
                layer.compile(options=products)


class Trainer(TorchJob):
    """A model, its optimizer and a few batches in pinned memory. Works on the current stream."""

    def __init__(self, given):
        import torch

        self.torch = torch
        self.given = given
        torch.manual_seed(given.seed)
        chance = torch.Generator().manual_seed(given.seed)
        self.autocast = given.shape.dtype == "autocast"
        self.model, batch = training(given.model, given.shape)
        # The backward pass of channels-last pooling adds in no fixed order.
        self.channels_last = MODELS[given.model].channels_last and given.losses is None
        if self.channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.compute = torch.compile(self.model) if given.compile == "model" else self.model
        if given.compile == "layers":
            compile_layers(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        made = [batch(chance) for _ in range(BATCHES)]
        self.batches = [tuple(self._kept(part) for part in parts) for parts in made]
        self.losses = []
        self.keep_losses = given.losses or 0
        self.iterations = 0
        self.borders = []

    def _kept(self, part):
        if part.is_floating_point():
            part = part.to(torch_dtype(self.given.shape.dtype))
        if self.channels_last and part.dim() == 4:
            part = part.contiguous(memory_format=self.torch.channels_last)
        return part.pin_memory()

    def step(self):
        """One iteration, of three passes."""
        torch = self.torch
        border = Marks(self) if self.given.marks else lambda kind: None
        border("forward")
        kept = self.batches[self.iterations % BATCHES]
        batch = [part.to("cuda", non_blocking=True) for part in kept]
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.autocast):
            loss = self.compute(*batch)
        border("backward")
        loss.backward()
        border("optimizer")
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        border(None)
        self.iterations += 1
        if len(self.losses) < self.keep_losses:
            self.losses.append(loss.detach())
        if self.given.sync_every and self.iterations % self.given.sync_every == 0:
            loss.item()

    def iterate(self, more):
        self.borders = []
        return super().iterate(more)

    def observed(self, clock):
        if not self.given.marks:
            return {}
        return {"borders": [[kind, clock.ns(event)] for kind, event in self.borders]}

    def facts(self):
        given = self.given
        return {
            "label": f"{given.model} {given.shape} training",
            "model": given.model,
            "batch": given.shape.batch,
            "dtype": given.shape.dtype,
            "memory_bytes": self.torch.cuda.memory_reserved(),
        }


class Marks:
    """Shows one iteration's passes to a profiler, and leaves an event where each begins on the GPU."""

    def __init__(self, trainer):
        self.trainer = trainer
        self.open = False

    def __call__(self, kind):
        nvtx = self.trainer.torch.cuda.nvtx
        if self.open:
            nvtx.range_pop()
        self.open = kind is not None
        if kind is not None:
            nvtx.range_push(kind)
            self.trainer.borders.append((kind, self.trainer.event()))


def main():
    given = options()
    if given.losses is not None:
        from exact import make_exact

        make_exact(given.seed)
    trainer = Trainer(given)
    # Losses are digested from the first iteration on.
    iterating.run(trainer, given, warm_up=given.losses is None)
    if given.losses is not None:
        from exact import digest

        print(f"digest {digest(trainer.losses)} of {len(trainer.losses)} losses", flush=True)


if __name__ == "__main__":
    main()
