"""An engine's memory as vLLM handles it: engine_memory.py KIND MIB SECONDS [FOLDER].

profile: asks what is free, takes its weights, asks again and again for so long, and says what it was told, in MiB.
serve: takes 0.92 of the GPU's memory at once, as the default of vLLM does, and keeps it for so long.
sleep: gives its memory to the driver, as /sleep does at levels 1, 2 and 1. When FOLDER/wake-N is there, it maps it again under the same
    addresses, as /wake_up does, is idle until FOLDER/read-N is there, and reads it.
"""

import ctypes
import os
import sys
import time

kind, mib, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
MIB = 1 << 20
cuda = ctypes.CDLL("libcuda.so.1")


def ok(name: str, *arguments: object) -> None:
    result = getattr(cuda, name)(*arguments)
    if result != 0:
        sys.exit("{} answers {}".format(name, result))


class Property(ctypes.Structure):
    """CUmemAllocationProp: memory of device 0."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location_type", ctypes.c_int),
        ("location_id", ctypes.c_int),
        ("rest", ctypes.c_char * 16),
    ]


class Access(ctypes.Structure):
    _fields_ = [("location_type", ctypes.c_int), ("location_id", ctypes.c_int), ("flags", ctypes.c_int)]


def free() -> tuple[int, int]:
    left, total = ctypes.c_size_t(), ctypes.c_size_t()
    ok("cuMemGetInfo_v2", ctypes.byref(left), ctypes.byref(total))
    return left.value, total.value


def reserve(size: int) -> ctypes.c_uint64:
    at = ctypes.c_uint64()
    ok("cuMemAddressReserve", ctypes.byref(at), ctypes.c_size_t(size), ctypes.c_size_t(0), ctypes.c_uint64(0), 0)
    return at


OUT_OF_MEMORY = 2


def place(at: ctypes.c_uint64, size: int, patient: bool = False) -> ctypes.c_uint64:
    """Maps memory. `patient`: asks again, because a busy machine parks trainings in more than the 2 s that a call waits."""
    handle = ctypes.c_uint64()
    wanted = Property(type=1, location_type=1)
    arguments = (ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(wanted), ctypes.c_uint64(0))
    while patient and cuda.cuMemCreate(*arguments) == OUT_OF_MEMORY:
        time.sleep(0.1)
    if not patient:
        ok("cuMemCreate", *arguments)
    ok("cuMemMap", at, ctypes.c_size_t(size), ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
    access = Access(location_type=1, flags=3)
    ok("cuMemSetAccess", at, ctypes.c_size_t(size), ctypes.byref(access), ctypes.c_size_t(1))
    return handle


def remove(at: ctypes.c_uint64, size: int, handle: ctypes.c_uint64) -> None:
    ok("cuMemUnmap", at, ctypes.c_size_t(size))
    ok("cuMemRelease", handle)


def profile() -> None:
    before = free()[0]
    at = reserve(mib * MIB)
    place(at, mib * MIB)
    print("profiling", file=sys.stderr, flush=True)
    told = set()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        told.add((before - free()[0]) // MIB)
        time.sleep(0.003)
    print("took", *sorted(told))


def serve() -> None:
    left, total = free()
    size = int(0.92 * total) // (2 * MIB) * 2 * MIB
    if left < size:
        sys.exit("free memory {} is less than {}".format(left // MIB, size // MIB))
    began = time.monotonic()
    place(reserve(size), size)
    print("serving", "{} MiB after {:.1f} s".format(size // MIB, time.monotonic() - began), file=sys.stderr, flush=True)
    time.sleep(seconds)


def await_file(what: str, number: int) -> None:
    while not os.path.exists("{}/{}-{}".format(sys.argv[4], what, number)):
        time.sleep(0.01)


def sleep() -> None:
    size = mib * MIB // 2
    places = [reserve(size), reserve(size)]  # weights and cache
    handles = [place(at, size) for at in places]
    pattern = (bytes(range(251)) * (size // 251 + 1))[:size]
    for number, level in enumerate((1, 2, 1)):
        ok("cuMemcpyHtoD_v2", places[0], pattern, ctypes.c_size_t(size))
        saved = (ctypes.c_uint8 * size)()
        if level == 1:
            ok("cuMemcpyDtoH_v2", saved, places[0], ctypes.c_size_t(size))
        for at, handle in zip(places, handles):
            remove(at, size, handle)
        print("asleep", number, file=sys.stderr, flush=True)
        await_file("wake", number)
        handles = [place(at, size, patient=True) for at in places]
        ok("cuMemcpyHtoD_v2", places[0], saved if level == 1 else pattern, ctypes.c_size_t(size))
        print("idle", number, file=sys.stderr, flush=True)
        await_file("read", number)
        seen = (ctypes.c_uint8 * size)()
        ok("cuMemcpyDtoH_v2", seen, places[0], ctypes.c_size_t(size))
        print("awake", number, "intact" if bytes(seen) == pattern else "WRONG", file=sys.stderr, flush=True)


ok("cuInit", 0)
context = ctypes.c_void_p()
ok("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
ok("cuCtxSetCurrent", context)
{"profile": profile, "serve": serve, "sleep": sleep}[kind]()
