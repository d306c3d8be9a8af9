"""Numba: a kernel compiled from Python, in a stream."""

import numpy as np
from numba import cuda


@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * factor


x = cuda.to_device(np.ones(100_000, np.float32))
stream = cuda.stream()
for _ in range(10):
    scale[400, 256, stream](x, 2.0)
stream.synchronize()
event = cuda.event()
event.record()
event.synchronize()
assert x.copy_to_host().shape == (100_000,)
print("ended")
