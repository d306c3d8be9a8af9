"""Image classifiers of torchvision as layer groups: functions of one tensor that, one after another, are the network.

A group ends where a single tensor passes: between blocks, and inside DenseNet's blocks, where the tensor is the
concatenation that the next layer would make anyway.
"""

import torch
import torchvision
from torch import nn

# Inception takes pictures of 299 x 299.
SIDES = {"inception-v3": 299}


def side(name):
    return SIDES.get(name, 224)


def groups(name):
    """[(what it is called, the function)]: of a model with random weights, made as the defaults of torch say."""
    return [(what, one) for what, one in GROUPINGS[name]()]


def chain(*modules):
    return nn.Sequential(*modules).eval()


def resnet(maker):
    def made():
        net = maker(weights=None)
        yield "stem", chain(net.conv1, net.bn1, net.relu, net.maxpool)
        for number in (1, 2, 3, 4):
            blocks = list(getattr(net, f"layer{number}"))
            for first in range(0, len(blocks), 2):
                # A block that stays over goes with the two before it.
                if first > 0 and first == len(blocks) - 1:
                    break
                last = len(blocks) if first + 3 == len(blocks) else first + 2
                yield f"layer{number}.{first}-{last - 1}", chain(*blocks[first:last])
        yield "head", chain(net.avgpool, nn.Flatten(), net.fc)

    return made


def vgg16():
    net = torchvision.models.vgg16(weights=None)
    first, block = 0, 1
    for at, layer in enumerate(net.features):
        if isinstance(layer, nn.MaxPool2d):
            yield f"block{block}", chain(*net.features[first : at + 1])
            first, block = at + 1, block + 1
    yield "head", chain(net.avgpool, nn.Flatten(), net.classifier)


class DenseLayers(nn.Module):
    """Some consecutive layers of a dense block."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, given):
        features = [given]
        for layer in self.layers:
            features.append(layer(features))
        return torch.cat(features, 1)


def densenet201():
    net = torchvision.models.densenet201(weights=None)
    parts = net.features
    yield "stem", chain(parts.conv0, parts.norm0, parts.relu0, parts.pool0)
    for number in (1, 2, 3, 4):
        layers = list(getattr(parts, f"denseblock{number}").values())
        for first in range(0, len(layers), 16):
            dense = DenseLayers(layers[first : first + 16])
            ends = first + 16 >= len(layers)
            after = [getattr(parts, f"transition{number}")] if ends and number < 4 else []
            yield f"dense{number}.{first}", chain(dense, *after)
    yield "head", chain(parts.norm5, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), net.classifier)


def inception_v3():
    # Its own initialisation draws through SciPy, for minutes. Its second output only serves training.
    net = torchvision.models.inception_v3(weights=None, init_weights=False, aux_logits=False)
    yield "stem.1", chain(net.Conv2d_1a_3x3, net.Conv2d_2a_3x3, net.Conv2d_2b_3x3, net.maxpool1)
    yield "stem.2", chain(net.Conv2d_3b_1x1, net.Conv2d_4a_3x3, net.maxpool2)
    yield "5b-5d", chain(net.Mixed_5b, net.Mixed_5c, net.Mixed_5d)
    yield "6a-6b", chain(net.Mixed_6a, net.Mixed_6b)
    yield "6c-6d", chain(net.Mixed_6c, net.Mixed_6d)
    yield "6e-7a", chain(net.Mixed_6e, net.Mixed_7a)
    yield "7b", chain(net.Mixed_7b)
    yield "7c, head", chain(net.Mixed_7c, net.avgpool, nn.Flatten(), net.fc)


def googlenet():
    net = torchvision.models.googlenet(weights=None, init_weights=False, aux_logits=False)
    yield "stem", chain(net.conv1, net.maxpool1, net.conv2, net.conv3, net.maxpool2)
    yield "3a", chain(net.inception3a)
    yield "3b", chain(net.inception3b, net.maxpool3)
    yield "4a-4b", chain(net.inception4a, net.inception4b)
    yield "4c-4d", chain(net.inception4c, net.inception4d)
    yield "4e", chain(net.inception4e, net.maxpool4)
    yield "5a-5b", chain(net.inception5a, net.inception5b)
    yield "head", chain(net.avgpool, nn.Flatten(), net.fc)


def mobilenet_v2():
    net = torchvision.models.mobilenet_v2(weights=None)
    for first, after in ((0, 2), (2, 4), (4, 7), (7, 11), (11, 14), (14, 17)):
        yield f"features.{first}", chain(*net.features[first:after])
    yield "head", chain(*net.features[17:], nn.AdaptiveAvgPool2d(1), nn.Flatten(), net.classifier)


class Embedding(nn.Module):
    """A picture as a row of patches, with the token that will tell the class."""

    def __init__(self, net):
        super().__init__()
        self.patches, self.position, self.token = net.conv_proj, net.encoder.pos_embedding, net.class_token

    def forward(self, given):
        rows = self.patches(given).flatten(2).transpose(1, 2)
        token = self.token.expand(rows.shape[0], -1, -1)
        return torch.cat([token, rows], 1) + self.position


class FirstRow(nn.Module):
    def forward(self, given):
        return given[:, 0]


def vit_b16():
    net = torchvision.models.vit_b_16(weights=None)
    # All zero by default: every answer would be equal to every other.
    nn.init.normal_(net.heads.head.weight, std=0.02)
    yield "embedding", Embedding(net).eval()
    for first in range(0, 12, 2):
        yield f"layers.{first}-{first + 1}", chain(*net.encoder.layers[first : first + 2])
    yield "head", chain(net.encoder.ln, FirstRow(), net.heads)


GROUPINGS = {
    "resnet50": resnet(torchvision.models.resnet50),
    "resnet101": resnet(torchvision.models.resnet101),
    "vgg16": vgg16,
    "densenet201": densenet201,
    "inception-v3": inception_v3,
    "googlenet": googlenet,
    "mobilenet-v2": mobilenet_v2,
    "vit-b16": vit_b16,
}
