"""A rank of a data-parallel training: training.py NCCL FILE STEPS KERNELS US.

Each step runs KERNELS kernels of US microseconds, reduces gradients of all ranks, and checks the sums. FILE passes the identity of
the communicator on. RANK, WORLD_SIZE and LOCAL_RANK are those of torchrun. Prints the seconds of the steps after the first as JSON.
"""

import ctypes
import json
import os
import struct
import sys
import time

COUNT = 20_000
PTX = b"""
.version 8.0
.target sm_90
.address_size 64
//! soft ns=p0
.visible .entry computes(.param .u64 ns)
{
  ret;
}
"""
FLOAT32, SUM = 7, 0
path, steps, kernels = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
cuda, nccl = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(sys.argv[1])


class Identity(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def ok(library: ctypes.CDLL, name: str, *arguments: object) -> None:
    result = getattr(library, name)(*arguments)
    if result != 0:
        sys.exit("{} answers {}".format(name, result))


def shared_identity() -> Identity:
    if rank == 0:
        made = Identity()
        ok(nccl, "ncclGetUniqueId", ctypes.byref(made))
        with open(path + ".new", "wb") as file:
            file.write(bytes(made))
        os.rename(path + ".new", path)
        return made
    while not os.path.exists(path):
        time.sleep(0.001)
    with open(path, "rb") as file:
        return Identity.from_buffer_copy(file.read())


context, stream, communicator = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
module, kernel, nanoseconds = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64(1000 * int(sys.argv[5]))
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(nanoseconds))
gradients, sums = ctypes.c_uint64(), (ctypes.c_float * COUNT)()
ok(cuda, "cuInit", 0)
ok(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(context), int(os.environ["LOCAL_RANK"]))
ok(cuda, "cuCtxSetCurrent", context)
ok(cuda, "cuStreamCreate", ctypes.byref(stream), 1)
ok(cuda, "cuMemAlloc_v2", ctypes.byref(gradients), ctypes.c_size_t(4 * COUNT))
ok(cuda, "cuModuleLoadData", ctypes.byref(module), PTX)
ok(cuda, "cuModuleGetFunction", ctypes.byref(kernel), module, b"computes")
ok(nccl, "ncclCommInitRank", ctypes.byref(communicator), ranks, shared_identity(), rank)

began = 0.0
for step in range(steps):
    value = struct.unpack("I", struct.pack("f", float(step + rank)))[0]
    size = ctypes.c_size_t(COUNT)
    ok(cuda, "cuMemsetD32Async", gradients, ctypes.c_uint(value), size, stream)
    for _ in range(kernels):
        ok(cuda, "cuLaunchKernel", kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, None)
    ok(nccl, "ncclAllReduce", gradients, gradients, size, FLOAT32, SUM, communicator, stream)
    ok(cuda, "cuMemcpyDtoHAsync_v2", sums, gradients, ctypes.c_size_t(4 * COUNT), stream)
    ok(cuda, "cuStreamSynchronize", stream)
    expected = float(ranks * step + ranks * (ranks - 1) // 2)
    if bytes(sums) != struct.pack("f", expected) * COUNT:
        sys.exit("step {} of rank {}: {} in place of {}".format(step, rank, sums[0], expected))
    if step == 0:
        began = time.monotonic()
        print("training", file=sys.stderr, flush=True)
ok(nccl, "ncclCommDestroy", communicator)
print(json.dumps({"checked": steps, "seconds": time.monotonic() - began}))
