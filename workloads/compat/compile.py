"""A transformer block through torch.compile: Triton kernels made at run time."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from exact import digest, make_exact  # noqa: E402

make_exact(3)
import torch  # noqa: E402
from torch import nn  # noqa: E402


class Block(nn.Module):
    def __init__(self, width=512, heads=8):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).view(batch, length, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.after(x))


block = Block().to("cuda", torch.bfloat16)
chance = torch.Generator().manual_seed(3)
answers = []
with torch.no_grad():
    compiled = torch.compile(block)
    for _ in range(20):
        x = torch.randn(4, 256, 512, generator=chance).to("cuda", torch.bfloat16)
        answers.append(compiled(x))
print("digest", digest(answers))
