"""PyTorch: matrix products, convolutions, a training, a compiled function, a captured graph."""

import torch

x = torch.randn(256, 256, device="cuda")
y = x @ x
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
torch.nn.Conv2d(3, 8, 3).cuda()(torch.randn(2, 3, 32, 32, device="cuda"))
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    model(x)
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    z = model(x)
graph.replay()
torch.compile(lambda a: torch.nn.functional.gelu(a) * 2)(x)
torch.cuda.synchronize()
assert torch.cuda.memory_allocated() > 0 and z.cpu().shape == (256, 10)
print("ended")
