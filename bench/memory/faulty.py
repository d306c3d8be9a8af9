"""A program that works on the GPU for a second and then goes wrong: faulty.py KIND

  illegal   writes to an address that is nobody's       assert  fails an assertion in a kernel
  endless   a kernel that does not end                  oom     allocates until it is refused, 64 MiB at a time
  kill      kills itself with SIGKILL, work queued
Needs no PyTorch and no nvcc. Says when it goes wrong, and what the driver answers."""

import ctypes
import json
import os
import signal
import sys
import time

PTX = rb"""
.version 7.0
.target sm_70
.address_size 64
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
.global .align 1 .b8 text[5] = {116, 114, 117, 101, 0};
//! soft ns=p0
.visible .entry work(.param .u64 times, .param .u64 at)
{
  .reg .pred %p; .reg .f32 %v; .reg .b64 %left, %to;
  ld.param.u64 %left, [times];
  ld.param.u64 %to, [at];
  mov.f32 %v, 0f3F800000;
AGAIN:
  fma.rn.f32 %v, %v, 0f3F7FBE77, 0f3A83126F;
  sub.u64 %left, %left, 1;
  setp.ne.u64 %p, %left, 0;
  @%p bra AGAIN;
  st.global.f32 [%to], %v;
  ret;
}
//! soft ns=p0
.visible .entry fails(.param .u64 times, .param .u64 at)
{
  .reg .b64 %t;
  .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c;
  cvta.global.u64 %t, text;
  st.param.b64 [m], %t; st.param.b64 [f], %t; st.param.b32 [l], 1; st.param.b64 [n], %t; st.param.b64 [c], 1;
  call.uni __assertfail, (m, f, l, n, c);
  ret;
}
"""
FOREVER = 2**62


def main():
    kind = sys.argv[1]
    cuda = ctypes.CDLL("libcuda.so.1")

    def do(name, *arguments):
        result = getattr(cuda, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name}: error {result}")

    context, module, work, fails, stream = (ctypes.c_void_p() for _ in range(5))
    memory = ctypes.c_uint64()
    do("cuInit", 0)
    do("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    do("cuCtxSetCurrent", context)
    do("cuModuleLoadData", ctypes.byref(module), PTX)
    do("cuModuleGetFunction", ctypes.byref(work), module, b"work")
    do("cuModuleGetFunction", ctypes.byref(fails), module, b"fails")
    do("cuStreamCreate", ctypes.byref(stream), 1)
    do("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(1 << 20))

    def launch(function, times, at):
        given = [ctypes.c_uint64(times), ctypes.c_uint64(at)]
        pointers = (ctypes.c_void_p * 2)(*(ctypes.addressof(one) for one in given))
        return cuda.cuLaunchKernel(function, 528, 1, 1, 256, 1, 1, 0, stream, pointers, None)

    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        launch(work, 20_000, memory.value)
        do("cuStreamSynchronize", stream)
    print(json.dumps({"said": "wrong", "kind": kind, "atNs": time.monotonic_ns()}), flush=True)
    if kind == "kill":
        for _ in range(50):
            launch(work, 20_000, memory.value)
        os.kill(os.getpid(), signal.SIGKILL)
    result = 0
    if kind == "illegal":
        launch(work, 1, 8)
    elif kind == "assert":
        launch(fails, 1, 0)
    elif kind == "endless":
        launch(work, FOREVER, memory.value)
    while kind == "oom" and result == 0:
        result = cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64 << 20))
    result = result or cuda.cuStreamSynchronize(stream)
    print(json.dumps({"said": "answer", "error": result}), flush=True)


if __name__ == "__main__":
    main()
