"""CuPy: elementwise and own kernels, compiled at run time, streams, events and a captured graph."""

import cupy as cp
import numpy as np

a = cp.asarray(np.arange(1000, dtype=np.float32))
b = a + 1
total = float(b.sum())
kernel = cp.RawKernel(
    'extern "C" __global__ void twice(float* x, int n) {'
    " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }",
    "twice",
)
kernel((8,), (128,), (b, 1000))
stream = cp.cuda.Stream(non_blocking=True)
with stream:
    stream.begin_capture()
    c = a * 2
    graph = stream.end_capture()
    graph.launch(stream)
    stream.synchronize()
event = cp.cuda.Event()
event.record()
event.synchronize()
assert cp.asnumpy(a)[999] == 999
print("ended")
