"""A decoder of the shape of Llama 2 7B that makes tokens one by one from a full cache of keys and values.

Written here because a request must be the same work each time: position and length of the cache are fixed,
so every step can be captured in a CUDA graph, and the last of a request always sees `context` tokens. The
cache begins filled with random numbers, as if a prompt had been read.
"""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, silu

VOCABULARY, HIDDEN, LAYERS, HEADS, INNER = 32000, 4096, 32, 32, 11008
HEAD = HIDDEN // HEADS


class Layer(nn.Module):
    def __init__(self, batch, context):
        super().__init__()
        self.before, self.between = (nn.RMSNorm(HIDDEN, eps=1e-5) for _ in range(2))
        self.query, self.key, self.value, self.out = (nn.Linear(HIDDEN, HIDDEN, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(HIDDEN, INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(INNER, HIDDEN, bias=False)
        self.register_buffer("keys", torch.randn(batch, HEADS, context, HEAD))
        self.register_buffer("values", torch.randn(batch, HEADS, context, HEAD))

    def forward(self, x, turn, position):
        x = x + self.attend(self.before(x), turn, position)
        y = self.between(x)
        return x + self.down(silu(self.gate(y)) * self.up(y))

    def attend(self, x, turn, position):
        batch = x.shape[0]
        query, key, value = (
            part(x).view(batch, 1, HEADS, HEAD).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        self.keys[:, :, position : position + 1] = turned(key, turn)
        self.values[:, :, position : position + 1] = value
        seen = scaled_dot_product_attention(
            turned(query, turn), self.keys[:, :, : position + 1], self.values[:, :, : position + 1]
        )
        return self.out(seen.transpose(1, 2).reshape(batch, 1, HIDDEN))


def turned(x, turn):
    """Rotary position embedding."""
    cos, sin = turn
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Decoder(nn.Module):
    def __init__(self, batch, tokens, context):
        super().__init__()
        self.positions = range(context - tokens, context)
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleList(Layer(batch, context) for _ in range(LAYERS))
        self.norm = nn.RMSNorm(HIDDEN, eps=1e-5)
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)
        exact = torch.float32
        speeds = 10000.0 ** (-torch.arange(0, HEAD, 2, dtype=exact) / HEAD)
        angles = torch.outer(torch.arange(context, dtype=exact), speeds).repeat(1, 2)
        self.register_buffer("cos", angles.cos().to(torch.get_default_dtype()))
        self.register_buffer("sin", angles.sin().to(torch.get_default_dtype()))

    def forward(self, ids):
        """From each sequence's last token to the scores of the one after those made."""
        for position in self.positions:
            x = self.embedding(ids)
            for layer in self.layers:
                x = layer(x, (self.cos[position], self.sin[position]), position)
            scores = self.head(self.norm(x))[:, -1]
            ids = scores.argmax(dim=-1, keepdim=True)
        return scores


def inference(_name, shape):
    def example(generator):
        return torch.randint(0, VOCABULARY, (shape.batch, 1), generator=generator)

    return Decoder(shape.batch, shape.tokens, shape.context), example
