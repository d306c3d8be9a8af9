"""A service on two GPUs: two_gpus.py FOLDER.

File N of FOLDER is its command number N, from 0: a device and whether a request on it begins or ends. Says on stderr when
it has done so.
"""

import ctypes
import os
import sys
import time

PTX = b"""
.version 8.0
.target sm_90
.address_size 64
//! soft ns=1000
.visible .entry short()
{
  ret;
}
"""
COMMANDS = 8
cuda = ctypes.CDLL("libcuda.so.1")


def ok(name: str, *arguments: object) -> None:
    result = getattr(cuda, name)(*arguments)
    if result != 0:
        sys.exit("{} answers {}".format(name, result))


class Device:
    def __init__(self, number: int) -> None:
        self.context, module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.active = False
        ok("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), number)
        ok("cuCtxSetCurrent", self.context)
        ok("cuModuleLoadData", ctypes.byref(module), PTX)
        ok("cuModuleGetFunction", ctypes.byref(self.kernel), module, b"short")

    def submit(self) -> None:
        ok("cuCtxSetCurrent", self.context)
        ok("cuLaunchKernel", self.kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None)

    def obey(self, word: str) -> None:
        self.active = word == "begins"
        self.submit()
        if not self.active:
            ok("cuCtxSynchronize")


ok("cuInit", 0)
devices = [Device(0), Device(1)]
print("ready", file=sys.stderr, flush=True)
for number in range(COMMANDS):
    path = os.path.join(sys.argv[1], str(number))
    while not os.path.exists(path):
        # A burst in which nothing is submitted for long is taken for over.
        for device in devices:
            if device.active:
                device.submit()
        time.sleep(0.005)
    with open(path) as file:
        device_number, word = file.read().split()
    devices[int(device_number)].obey(word)
    print("done {}".format(number), file=sys.stderr, flush=True)
