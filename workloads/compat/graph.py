"""A whole training step captured once in a CUDA graph, replayed 50 times on changing input."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from exact import digest, make_exact  # noqa: E402

make_exact(2)
import torch  # noqa: E402
from torch import nn  # noqa: E402

model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
given = torch.empty(64, 1024, device="cuda")
wanted = torch.empty(64, 1024, device="cuda")
chance = torch.Generator().manual_seed(2)


def feed():
    for tensor in (given, wanted):
        tensor.copy_(torch.randn(64, 1024, generator=chance).pin_memory(), non_blocking=True)
    # The pinned memory must outlive the copies out of it.
    torch.cuda.current_stream().synchronize()


def step():
    loss = nn.functional.mse_loss(model(given), wanted)
    loss.backward()
    optimizer.step()
    return loss


feed()
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        step()
torch.cuda.current_stream().wait_stream(side)

graph = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    loss = step()

losses = []
for _ in range(50):
    feed()
    graph.replay()
    losses.append(loss.detach().clone())
print("digest", digest([*losses, *model.parameters()]))
