"""The models measured, by name, with random weights made from their configurations: nothing is downloaded.

This file needs no PyTorch, so that options can be looked at without it. Each family's module has

  inference(name, shape)   a module (one tensor in, one tensor out) and example(generator), which makes one
                           request's input on the CPU
  training(name, shape)    a module (a batch in, its loss out) and batch(generator), which makes one batch

Random numbers come from the seeded generator and torch.manual_seed: the same seed, the same model.
"""

import contextlib
import importlib
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shape:
    """How large one request or one batch is."""

    batch: int
    # Tokens or points; 0 where the model fixes it.
    sequence: int = 0
    # bf16, fp32, and for training autocast: fp32 weights, bf16 arithmetic.
    dtype: str = "bf16"
    # Tokens that one request of a decoder makes, and the length of its cache.
    tokens: int = 0
    context: int = 0

    def __str__(self):
        length = f" x {self.sequence}" if self.sequence else ""
        steps = f" x {self.tokens} at {self.context}" if self.context else ""
        return f"{self.batch}{length}{steps} {self.dtype}"

    def changed(self, **given):
        """With what was given in place of the defaults. Raises ValueError, in words for the user."""
        given = {what: value for what, value in given.items() if value is not None}
        for what, value in given.items():
            if not getattr(self, what):
                raise ValueError(f"this model has no --{what}")
            if what != "dtype" and value < 1:
                raise ValueError(f"--{what} must be at least 1")
        changed = replace(self, **given)
        if changed.tokens > changed.context:
            raise ValueError("--tokens must not be more than --context")
        return changed


@dataclass(frozen=True)
class Model:
    family: str
    inference: Shape
    # None: not trained here.
    training: Shape | None
    # The package its family needs besides torch.
    package: str = ""
    # Training runs on images as rows of pixels, the faster layout for convolutions.
    channels_last: bool = False

    @property
    def packages(self):
        return ("torch", self.package) if self.package else ("torch",)


def images(batch, trained=64):
    training = Shape(trained, dtype="autocast")
    return Model("vision", Shape(batch), training, "torchvision", channels_last=True)


MODELS = {
    "resnet50": images(4),
    "resnet101": images(4),
    "mobilenet-v2": images(4),
    "vgg16": images(4),
    "densenet201": images(4, trained=32),
    "inception-v3": images(4),
    "vit-b16": Model("vision", Shape(4), Shape(64, dtype="autocast"), "torchvision"),
    "bert-base": Model("language", Shape(4, 384), Shape(8, 384, "fp32"), "transformers"),
    "bert-large": Model("language", Shape(4, 384), Shape(8, 384, "fp32"), "transformers"),
    "gpt2-large": Model("language", Shape(1, 512), Shape(8, 512, "autocast"), "transformers"),
    "gpt-neo-2.7b": Model("language", Shape(1, 512), None, "transformers"),
    "llama-7b": Model("llama", Shape(1, tokens=1, context=512), None),
    "whisper-large": Model("seq2seq", Shape(1), Shape(4, 128, "autocast"), "transformers"),
    "pegasus-large": Model("seq2seq", Shape(1, 512), Shape(4, 512, "autocast"), "transformers"),
    "pointnet": Model("pointnet", Shape(32, 1024), Shape(32, 1024, "fp32")),
}
SERVED = {name: model.inference for name, model in MODELS.items()}
TRAINED = {name: model.training for name, model in MODELS.items() if model.training}


def inference(name, shape):
    # Imported first: what a library makes for itself stays on the CPU.
    made_by = family(name)
    with on_gpu(shape.dtype):
        model, example = made_by.inference(name, shape)
    return model.eval(), example


def training(name, shape):
    made_by = family(name)
    with on_gpu(shape.dtype):
        model, batch = made_by.training(name, shape)
    return model.train(), batch


def family(name):
    return importlib.import_module(f"models.{MODELS[name].family}")


def torch_dtype(dtype):
    import torch

    return torch.bfloat16 if dtype == "bf16" else torch.float32


@contextlib.contextmanager
def on_gpu(dtype):
    """Weights are made where they will be, and as what they will be: seconds instead of a minute."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch_dtype(dtype))
    try:
        with torch.device("cuda"):
            yield
    finally:
        torch.set_default_dtype(before)
