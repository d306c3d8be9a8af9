"""Image classifiers of torchvision, 1000 classes."""

import torch
import torchvision
from torch.nn.functional import cross_entropy

from models.called import Called

MAKERS = {
    "resnet50": "resnet50",
    "resnet101": "resnet101",
    "mobilenet-v2": "mobilenet_v2",
    "vgg16": "vgg16",
    "densenet201": "densenet201",
    "inception-v3": "inception_v3",
    "vit-b16": "vit_b_16",
}


def made(name, trained):
    make = getattr(torchvision.models, MAKERS[name])
    if name == "inception-v3":
        # Its own initialisation draws through SciPy, for minutes. Its second output only serves training.
        return make(weights=None, init_weights=False, aux_logits=trained)
    return make(weights=None)


def pictures(name, batch, generator):
    side = 299 if name == "inception-v3" else 224
    return torch.randn(batch, 3, side, side, generator=generator)


def classify(model, given):
    return model(given)


def loss_of(model, given, labels):
    answer = model(given)
    if isinstance(answer, torch.Tensor):
        return cross_entropy(answer.float(), labels)
    return loss_of_both(answer, labels)


def loss_of_both(answer, labels):
    """Loss of Inception: the paper's weight for the auxiliary classifier."""
    logits, auxiliary = answer
    return cross_entropy(logits.float(), labels) + 0.4 * cross_entropy(auxiliary.float(), labels)


def inference(name, shape):
    def example(generator):
        return pictures(name, shape.batch, generator)

    return Called(made(name, trained=False), classify), example


def training(name, shape):
    def batch(generator):
        labels = torch.randint(0, 1000, (shape.batch,), generator=generator)
        return pictures(name, shape.batch, generator), labels

    return Called(made(name, trained=True), loss_of), batch
