"""ResNet-18, forward and backward, 20 iterations launched one kernel at a time."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from exact import digest, make_exact  # noqa: E402

make_exact(1)
import torch  # noqa: E402
from torchvision.models import resnet18  # noqa: E402

model = resnet18(weights=None).cuda().train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
chance = torch.Generator().manual_seed(1)
losses = []
for _ in range(20):
    pictures = torch.randn(16, 3, 64, 64, generator=chance).pin_memory().cuda(non_blocking=True)
    labels = torch.randint(0, 1000, (16,), generator=chance).cuda()
    loss = torch.nn.functional.cross_entropy(model(pictures), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
print("digest", digest([*losses, model.fc.weight]))
