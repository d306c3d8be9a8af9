"""PointNet: which of 40 classes is a cloud of points? (Qi et al., 2017, the classifier with both transforms.)

The same small network for each point, as convolutions of width 1, then the maximum over all points: many
short kernels, the opposite of a large language model.
"""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from models.called import Called

CLASSES = 40
# Weight of the loss that keeps the feature transform near a rotation.
REGULARITY = 0.001


def per_point(*widths):
    """The same layers for every point."""
    layers = []
    for before, after in zip(widths, widths[1:], strict=False):
        layers += [nn.Conv1d(before, after, 1), nn.BatchNorm1d(after), nn.ReLU()]
    return nn.Sequential(*layers)


def for_all(*widths):
    layers = []
    for before, after in zip(widths, widths[1:], strict=False):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU()]
    return nn.Sequential(*layers)


class Transform(nn.Module):
    """Finds a matrix by which every point of a cloud is turned."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.points = per_point(width, 64, 128, 1024)
        self.cloud = nn.Sequential(for_all(1024, 512, 256), nn.Linear(256, width * width))
        self.register_buffer("identity", torch.eye(width))

    def forward(self, x):
        found = self.cloud(self.points(x).amax(dim=2))
        return found.view(-1, self.width, self.width) + self.identity


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn_points, self.turn_features = Transform(3), Transform(64)
        self.early, self.late = per_point(3, 64, 64), per_point(64, 64, 128, 1024)
        self.classify = nn.Sequential(for_all(1024, 512, 256), nn.Dropout(0.3), nn.Linear(256, CLASSES))

    def forward(self, x):
        """Clouds as (batch, 3, points): their scores, and the feature transforms."""
        x = self.early(torch.bmm(self.turn_points(x), x))
        turn = self.turn_features(x)
        x = self.late(torch.bmm(turn, x))
        return self.classify(x.amax(dim=2)), turn


def scores(model, clouds):
    return model(clouds)[0]


def loss_of(model, clouds, labels):
    answer, turn = model(clouds)
    turn = turn.float()
    off = torch.bmm(turn, turn.transpose(1, 2)) - model.turn_features.identity
    regular = torch.linalg.matrix_norm(off).mean()
    return cross_entropy(answer.float(), labels) + REGULARITY * regular


def clouds(shape, generator):
    return torch.randn(shape.batch, 3, shape.sequence, generator=generator)


def inference(_name, shape):
    def example(generator):
        return clouds(shape, generator)

    return Called(PointNet(), scores), example


def training(_name, shape):
    def batch(generator):
        labels = torch.randint(0, CLASSES, (shape.batch,), generator=generator)
        return clouds(shape, generator), labels

    return Called(PointNet(), loss_of), batch
