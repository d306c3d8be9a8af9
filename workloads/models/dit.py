"""The diffusion transformer of diffusion.py, in plain PyTorch: blocks whose norms are shifted and scaled by time and
class (adaLN-Zero)."""

import math

import torch
from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention, silu

PATCH, CHANNELS, CLASSES, FREQUENCIES = 2, 4, 1000, 256


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = (nn.LayerNorm(width, eps=1e-6, elementwise_affine=False) for _ in range(2))
        self.mixed = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.adapt = nn.Linear(width, 6 * width)

    def forward(self, x, condition):
        parts = self.adapt(silu(condition)).unsqueeze(1).chunk(6, dim=-1)
        shift, scale, gate, shift_up, scale_up, gate_up = parts
        x = x + gate * self.attend(self.before(x) * (1 + scale) + shift)
        y = self.between(x) * (1 + scale_up) + shift_up
        return x + gate_up * self.down(gelu(self.up(y), approximate="tanh"))

    def attend(self, x):
        batch, length, width = x.shape
        mixed = self.mixed(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = mixed.permute(2, 0, 3, 1, 4)
        seen = scaled_dot_product_attention(query, key, value)
        return self.out(seen.transpose(1, 2).reshape(batch, length, width))


class DiT(nn.Module):
    def __init__(self, layers, width, heads, latent):
        super().__init__()
        self.patches = nn.Conv2d(CHANNELS, width, PATCH, stride=PATCH)
        self.places = nn.Parameter(torch.randn(1, (latent // PATCH) ** 2, width) * 0.02)
        self.time = nn.Sequential(nn.Linear(FREQUENCIES, width), nn.SiLU(), nn.Linear(width, width))
        # One more for no class.
        self.label = nn.Embedding(CLASSES + 1, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, eps=1e-6, elementwise_affine=False)
        self.adapt = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, PATCH * PATCH * CHANNELS)
        speeds = torch.exp(-math.log(10_000) * torch.arange(FREQUENCIES // 2) / (FREQUENCIES // 2))
        self.register_buffer("speeds", speeds)

    def forward(self, latent, time, label):
        """The noise in a latent image (batch, 4, height, width) at a time (1) for classes (batch)."""
        batch, _, height, wide = latent.shape
        angles = time[:, None] * self.speeds
        condition = self.time(torch.cat((angles.cos(), angles.sin()), dim=-1)) + self.label(label)
        x = self.patches(latent).flatten(2).transpose(1, 2) + self.places
        for block in self.blocks:
            x = block(x, condition)
        shift, scale = self.adapt(silu(condition)).unsqueeze(1).chunk(2, dim=-1)
        x = self.out(self.norm(x) * (1 + scale) + shift)
        rows, columns = height // PATCH, wide // PATCH
        x = x.view(batch, rows, columns, PATCH, PATCH, CHANNELS)
        return x.permute(0, 5, 1, 3, 2, 4).reshape(batch, CHANNELS, height, wide)
