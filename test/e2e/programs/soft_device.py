"""A device of the software GPU, as a program of the driver's functions uses it."""

import ctypes
import sys

PTX = b"""
.version 8.0
.target sm_90
.address_size 64
//! soft ns=1000
.visible .entry short()
{
  ret;
}
//! soft ns=1000
.visible .entry ncclDevKernel_AllReduce_Sum_f32_RING_LL()
{
  ret;
}
"""
cuda = ctypes.CDLL("libcuda.so.1")


def ok(name: str, *arguments: object) -> None:
    result = getattr(cuda, name)(*arguments)
    if result != 0:
        sys.exit("{} answers {}".format(name, result))


class Device:
    def __init__(self, number: int, kernel: bytes = b"short") -> None:
        self.context, module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.active = False
        ok("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), number)
        ok("cuCtxSetCurrent", self.context)
        ok("cuModuleLoadData", ctypes.byref(module), PTX)
        ok("cuModuleGetFunction", ctypes.byref(self.kernel), module, kernel)

    def submit(self) -> None:
        ok("cuCtxSetCurrent", self.context)
        ok("cuLaunchKernel", self.kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None)

    def obey(self, word: str) -> None:
        self.active = word == "begins"
        self.submit()
        if not self.active:
            ok("cuCtxSynchronize")
